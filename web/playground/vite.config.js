import { defineConfig } from "vite";

export default defineConfig({
  // Relative addresses work behind a proxy's path prefix, too.
  base: "./",
  // One copy for the client and for us.
  resolve: { dedupe: ["@bufbuild/protobuf"] },
  build: {
    outDir: "../dist",
    emptyOutDir: true,
    // light-dark() and color-mix() are the newest that the page needs.
    target: ["chrome123", "firefox128", "safari17.5"],
    // All files are served by the page's own server, and its policy forbids what isn't a file.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: "licenses.md" },
    rolldownOptions: { output: { codeSplitting: false } },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  // npm run dev serves the page beside a server that runs already.
  server: { proxy: { "^/(trident\\.v1|inference)\\.": process.env.TRIDENT_URL ?? "http://127.0.0.1:9000" } },
});
