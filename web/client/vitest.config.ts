import { fileURLToPath, URL } from "node:url";
import { defineConfig } from "vitest/config";

const oldest = (name: string) =>
  fileURLToPath(new URL(`../react18/node_modules/${name}`, import.meta.url));

const library = (file: string) =>
  fileURLToPath(
    new URL(
      `../node_modules/@testing-library/react/dist/@testing-library/${file}`,
      import.meta.url,
    ),
  );

// A hung test fails; a busy machine does not make one fail.
const patience = { testTimeout: 60_000, hookTimeout: 60_000 };

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...patience,
          name: "react-19",
          env: { REACT_MAJOR: "19" },
          include: ["src/**/*.test.{ts,tsx}"],
        },
      },
      {
        // The same hooks on the oldest React that package.json allows.
        resolve: {
          alias: [
            { find: /^react(\/.*)?$/, replacement: oldest("react") + "$1" },
            // Its CommonJS form would require the other React, past these aliases.
            { find: "@testing-library/react", replacement: library("react.esm.js") },
            { find: /^react-dom(\/.*)?$/, replacement: oldest("react-dom") + "$1" },
          ],
        },
        test: {
          ...patience,
          name: "react-18",
          env: { REACT_MAJOR: "18" },
          include: ["src/**/*.test.tsx"],
          server: { deps: { inline: [/@testing-library/] } },
        },
      },
    ],
  },
});
