import { defineConfig } from "vitest/config";
import { reacts } from "../scripts/reacts";

export default defineConfig({ test: { projects: reacts } });
