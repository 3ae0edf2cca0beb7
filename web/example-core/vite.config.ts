import { fileURLToPath, URL } from "node:url";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import vue from "@vitejs/plugin-vue";
import { defineConfig } from "vite";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  plugins: [vue(), svelte()],
  build: {
    target: "es2022",
    rollupOptions: { input: ["plain", "vue", "svelte"].map((name) => here(`${name}.html`)) },
  },
});
