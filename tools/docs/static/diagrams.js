// Draws the diagrams of a page, in the colours of its theme. The library is loaded by pages with a diagram only.
(() => {
  const draw = () => {
    const all = document.querySelectorAll("pre.mermaid");
    if (all.length === 0) return;
    const root = document.documentElement.dataset.content_root ?? "./";
    const library = document.createElement("script");
    library.src = `${root}_static/mermaid.js`;
    library.onload = () => {
      const theme = document.body.dataset.theme;
      const dark = theme === "dark" || (theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
      window.mermaid.initialize({ startOnLoad: false, securityLevel: "strict", theme: dark ? "dark" : "neutral" });
      window.mermaid.run({ nodes: all });
    };
    document.head.append(library);
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", draw);
  else draw();
})();
