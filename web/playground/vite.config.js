import { defineConfig } from "vite";

/**
 * Returns the built page's only inline script. It applies the selected theme, which settings.ts stores, to the first frame. It
 * starts the program after that frame, because the browser paints nothing while a program of this size starts. A hidden page
 * has no frames.
 */
const starter = (program) => `
{
  try { document.documentElement.dataset.theme = JSON.parse(localStorage.getItem("trident.theme")) ?? "auto"; } catch {}
  const start = () => import("./${program}").catch((error) => {
    const shown = document.querySelector("main > .loading");
    if (shown) shown.textContent = "The program of this page can't be loaded. Reload the page to try again.";
    throw error;
  });
  if (document.hidden) start(); else requestAnimationFrame(() => setTimeout(start));
}
`;

/**
 * Puts the style into the page, and the starter in place of the program. The browser then paints the first frame from the
 * page alone. The server's content security policy allows both by their hashes. There is no modulepreload link, because the
 * browser would compile the program before that frame.
 */
const firstFrame = {
  name: "first-frame",
  apply: "build",
  transformIndexHtml: {
    order: "post",
    handler(html, { bundle, chunk }) {
      const style = Object.values(bundle).find(({ fileName }) => fileName.endsWith(".css"));
      delete bundle[style.fileName];
      return html
        .replace(/ *<script type="module"[^>]*><\/script>\n/, "")
        .replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${Buffer.from(style.source).toString().trim()}</style>`)
        .replace("</body>", () => `  <script>${starter(chunk.fileName)}</script>\n  </body>`);
    },
  },
};

export default defineConfig({
  // Relative addresses also work behind a proxy's path prefix.
  base: "./",
  // The client and the playground share one copy.
  resolve: { dedupe: ["@bufbuild/protobuf"] },
  plugins: [firstFrame],
  build: {
    outDir: "../dist",
    emptyOutDir: true,
    // light-dark() and color-mix() are the newest CSS features that the page uses.
    target: ["chrome123", "firefox128", "safari17.5"],
    // The page's own server serves all files, and its content security policy forbids scripts and
    // styles in data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: "licenses.md" },
    rolldownOptions: { output: { codeSplitting: false } },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  // npm run dev serves the page with the API of a running server.
  server: { proxy: { "^/(trident\\.v1|inference)\\.": process.env.TRIDENT_URL ?? "http://127.0.0.1:9000" } },
});
