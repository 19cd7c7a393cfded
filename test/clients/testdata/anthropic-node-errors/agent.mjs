let held;

// Closes the stream that keeps the server busy, once the server has refused a request.
const releasing = client.withOptions({
  fetch: async (...request) => {
    const response = await fetch(...request);
    if (response.status === 529) held?.controller.abort();
    return response;
  },
});
const once = releasing.withOptions({ maxRetries: 0 });
const [elks, line, bridge, ship] = ["How are the elks?", "Hold the line.", "Cross the bridge.", "Sink the ship."].map((text) => ({
  model: "chat", max_tokens: 1000, messages: [{ role: "user", content: `anthropic-node-errors: ${text}` }],
}));

// Prints the answer or the error of a request.
async function show(what, sender, request) {
  let written = "";
  try {
    const answer = await sender.messages.create(request);
    if (request.stream) {
      for await (const event of answer) written += event.delta?.text ?? "";
    } else {
      written = answer.content[0].text;
    }
    console.log(`${what}: ${written}`);
  } catch (error) {
    console.log(`${what}: ${written}${error.constructor.name}`, error.status, error.type, error.requestID.slice(0, 4), error.apiMessage);
  }
}

await show("forbidden", client.withOptions({ defaultHeaders: { origin: "https://example.com" } }), elks);
const slow = client.withOptions({ apiKey: "slow" });
await show("first", slow, elks);
await show("limited", slow, elks);
await show("failed", client, ship);
await show("failed in a stream", client, { ...bridge, stream: true });
const stream = await client.messages.create({ ...line, stream: true });
await stream[Symbol.asyncIterator]().next();
await show("overloaded", once, elks);
held = stream;
await show("after the overload", releasing, elks);
await show("late in a stream", client, { ...line, stream: true });
await new Promise((resolve) => setTimeout(resolve, 1000));
await show("late", client, line);
