node agent.mjs
