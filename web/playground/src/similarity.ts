/** Returns the cosine of the angle between each two vectors: 1 for equal directions, 0 for orthogonal ones. */
export function similarities(vectors: number[][]): number[][] {
  const lengths = vectors.map((v) => Math.sqrt(dot(v, v)));
  return vectors.map((a, i) => vectors.map((b, j) => (i === j ? 1 : dot(a, b) / (lengths[i]! * lengths[j]! || 1))));
}

function dot(a: number[], b: number[]): number {
  return a.reduce((sum, x, i) => sum + x * b[i]!, 0);
}

/** Returns the most similar and the least similar pair; undefined for fewer than two vectors. */
export function extremes(matrix: number[][]): { nearest: Pair; farthest: Pair } | undefined {
  const pairs = matrix.flatMap((row, i) => row.slice(0, i).map((value, j): Pair => ({ a: j, b: i, value })));
  if (pairs.length === 0) return undefined;
  pairs.sort((x, y) => y.value - x.value);
  return { nearest: pairs[0]!, farthest: pairs.at(-1)! };
}

/** Pair of texts, by their indexes. */
export interface Pair {
  a: number;
  b: number;
  value: number;
}
