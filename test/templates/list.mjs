// Prints the chat templates of @huggingface/ollama-utils as JSON: [{"model": ..., "template": ...}].
import { readFileSync } from "node:fs";

const file = new URL("node_modules/@huggingface/ollama-utils/src/chat-template-automap.ts", import.meta.url);
const text = readFileSync(file, "utf8");
const list = text.slice(text.indexOf("= [") + 2).replace(/;\s*$/, "");
const entries = new Function(`return ${list}`)();
console.log(JSON.stringify(entries.map((e) => ({ model: e.model, template: e.gguf }))));
