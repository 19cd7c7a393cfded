const texts = ["The stock market fell on Monday.", "The cat sits on the mat.", "Dogs bark at night."];
const query = "Where does the cat sit?";
const { data } = await client.embeddings.create({ model: "embedding", input: [query, ...texts] });
const cosine = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const near = data.slice(1).map(({ embedding }) => cosine(data[0].embedding, embedding));
const { results } = await client.post("/rerank", { body: { model: "embedding", query, documents: texts, top_n: 2 } });
console.log(data[0].embedding.length, results.map(({ document }) => document.text)[0]);
console.log(results.every(({ index, relevance_score }) => Math.abs(relevance_score - near[index]) < 1e-5));
