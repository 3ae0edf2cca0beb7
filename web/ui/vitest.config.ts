import { defineConfig } from "vitest/config";

// A hung test fails; a busy machine does not make one fail.
export default defineConfig({
  test: { testTimeout: 60_000, hookTimeout: 60_000, include: ["src/**/*.test.{ts,tsx}"] },
});
