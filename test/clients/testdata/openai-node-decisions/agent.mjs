const decision = await client.decisions.create({
  model: "chat", input: "The sauna is hot.", questions: [
    { type: "predicate", instructions: "Is it hot?" },
    { type: "choice", instructions: "Which word fits?", choices: [{ value: "warm", description: "not cold" }, { value: true }] },
    { type: "score", instructions: "How hot is it?", levels: [{ label: "mild" }, { label: "hot", description: "above 60 degrees" }, { label: "burning" }] },
  ],
});
const [hot, word, level] = decision.answers;
console.log("true", hot.probability.toFixed(4));
console.log(word.choice, word.probabilities[0].probability.toFixed(4), word.confidence.toFixed(4));
console.log(level.score.toFixed(4), ...level.probabilities.flatMap(({ label, probability }) => [label, probability.toFixed(4)]));
