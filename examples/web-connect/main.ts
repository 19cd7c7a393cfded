// Streams a chat, and streams the same model through its own tensors. The default server is that of `make run`; the
// page's parameter ?server=URL selects another one.
import { createTrident, inputs, outputs, Role, TridentError } from "@trident/client";

const baseUrl = new URLSearchParams(location.search).get("server") ?? "http://127.0.0.1:9000";
const trident = createTrident({ baseUrl });

/** Yields the pieces of a chat's answer. */
async function* chat(question: string, signal: AbortSignal) {
  const messages = [{ role: Role.USER, content: question }];
  for await (const delta of trident.chat.stream({ model: "chat", messages, maxTokens: 64, temperature: 0 }, { signal })) yield delta.text;
}

/** Yields the pieces that the model sends for its own tensors, in KServe v2's messages. The model receives the prompt unchanged. */
async function* tensors(prompt: string, signal: AbortSignal) {
  const request = inputs([
    { name: "text_input", datatype: "BYTES", shape: [1], data: [prompt] },
    { name: "stream", datatype: "BOOL", shape: [1], data: Uint8Array.of(1) },
    { name: "sampling_parameters", datatype: "BYTES", shape: [1], data: ['{"max_tokens": 16, "temperature": 0}'] },
  ]);
  for await (const response of trident.inferStream({ modelName: "chat", ...request }, { signal })) {
    for (const piece of outputs(response).text_output?.data ?? []) yield new TextDecoder().decode(piece as Uint8Array);
  }
}

const element = (id: string) => document.getElementById(id)!;
let leaving = new AbortController();
element("stop").onclick = () => leaving.abort(); // this also stops the model

element("ask").onsubmit = async (event: SubmitEvent) => {
  event.preventDefault();
  const form = new FormData(event.target as HTMLFormElement, event.submitter);
  leaving.abort();
  const { signal } = (leaving = new AbortController());
  element("answer").textContent = "";
  element("state").textContent = "…";
  try {
    const pieces = form.get("by") === "tensors" ? tensors : chat;
    for await (const text of pieces(String(form.get("question")), signal)) element("answer").append(text);
    element("state").textContent = "done";
  } catch (error) {
    if (!signal.aborted) element("state").textContent = error instanceof TridentError ? `${error.message} (${error.reason})` : String(error);
  }
};
