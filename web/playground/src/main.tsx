// The playground: chats, embeddings, models and metrics of the server that serves this
// page. It uses the typed client.
import { render } from "preact";
import { App } from "./app.tsx";
import { followModels } from "./server.ts";
import { theme } from "./settings.ts";
import "./style.css";

document.documentElement.dataset["theme"] = theme.value;
followModels();
document.body.replaceChildren(); // the first frame, from index.html
render(<App />, document.body);
