import { fileURLToPath, URL } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { minting } from "./mint.mjs";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  plugins: [
    react(),
    {
      name: "castalia-example-host",
      configureServer(server) {
        server.middlewares.use(
          minting({
            server: process.env["CASTALIA_URL"] ?? "http://127.0.0.1:3000",
            binary: process.env["CASTALIA_BINARY"] ?? here("../../bin/castalia"),
            keyFile: here("example.key"),
          }),
        );
      },
    },
  ],
  build: {
    target: "es2022",
    rollupOptions: { input: ["index", "hooks", "wallet"].map((name) => here(`${name}.html`)) },
  },
});
