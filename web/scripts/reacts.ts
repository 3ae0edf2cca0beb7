import { fileURLToPath, URL } from "node:url";
import type { TestProjectConfiguration } from "vitest/config";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const oldest = (name: string) => here(`../react18/node_modules/${name}`);
const library = "../node_modules/@testing-library/react/dist/@testing-library/react.esm.js";

// A hung test fails; a busy machine does not make one fail.
const patience = { testTimeout: 60_000, hookTimeout: 60_000 };

/** A package's tests under the React of today, and what draws under the oldest one allowed. */
export const reacts: TestProjectConfiguration[] = [
  {
    test: {
      ...patience,
      name: "react-19",
      env: { REACT_MAJOR: "19" },
      include: ["src/**/*.test.{ts,tsx}"],
    },
  },
  {
    resolve: {
      alias: [
        { find: /^react(\/.*)?$/, replacement: oldest("react") + "$1" },
        // Its CommonJS form would require the other React, past these aliases.
        { find: "@testing-library/react", replacement: here(library) },
        { find: /^react-dom(\/.*)?$/, replacement: oldest("react-dom") + "$1" },
      ],
    },
    test: {
      ...patience,
      name: "react-18",
      env: { REACT_MAJOR: "18" },
      include: ["src/**/*.test.tsx"],
      server: { deps: { inline: [/@testing-library/, /oracles-client|web.client.dist/] } },
    },
  },
];
