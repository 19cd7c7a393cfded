import { defineConfig } from "vite";

export default defineConfig({
  // Relative addresses also work behind a proxy's path prefix.
  base: "./",
  // The client and the playground share one copy.
  resolve: { dedupe: ["@bufbuild/protobuf"] },
  build: {
    outDir: "../dist",
    emptyOutDir: true,
    // light-dark() and color-mix() are the newest CSS features that the page uses.
    target: ["chrome123", "firefox128", "safari17.5"],
    // The page's own server serves all files, and its content security policy forbids inline
    // data.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: "licenses.md" },
    rolldownOptions: { output: { codeSplitting: false } },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  // npm run dev serves the page with the API of a running server.
  server: { proxy: { "^/(trident\\.v1|inference)\\.": process.env.TRIDENT_URL ?? "http://127.0.0.1:9000" } },
});
