import { defineConfig } from "vitest/config";

export default defineConfig({
  // A hung test fails; a busy machine does not make one fail.
  test: { testTimeout: 60_000, hookTimeout: 60_000 },
});
