import js from "@eslint/js";
import hooks from "eslint-plugin-react-hooks";
import ts from "typescript-eslint";
import words from "./console/scripts/eslint-words.js";

export default ts.config(
  { ignores: ["**/dist/**", "**/node_modules/**"] },
  js.configs.recommended,
  ...ts.configs.strict,
  hooks.configs.flat.recommended,
  {
    // The core runs without React: in workers, in tests, in other frameworks.
    files: ["client/src/core/**", "client/src/live-agent/core/**"],
    rules: {
      "no-restricted-imports": [
        "error",
        { patterns: ["react", "react/*", "react-dom*", "**/react/**"] },
      ],
    },
  },
  {
    files: ["console/src/**"],
    plugins: { words },
    rules: { "words/inside": "error" },
  },
  {
    files: ["console/src/**"],
    ignores: ["**/*.test.*"],
    plugins: { words },
    rules: { "words/text": "error", "words/locale": "error" },
  },
);
