import { useAgAction, type ZodLike } from "@castalia/oracles-client";
import { useMemo } from "react";
import { useSession } from "../../identity/session";
import { Files } from "../files/api";
import { say } from "../../words";
import { Chart } from "./components/Chart";
import { readChart, type ChartData } from "./components/chartData";
import { FileCard } from "./components/FileCard";

/** A schema of our own: JSON Schema for the oracle, a parser for what comes back. */
function schema<T>(json: Record<string, unknown>, parse: (value: unknown) => T): ZodLike<T> {
  return Object.assign({ parse }, { toJSONSchema: () => json });
}

const chartSchema = schema<ChartData>(
  {
    type: "object",
    properties: {
      title: { type: "string", description: "what the chart shows" },
      kind: { type: "string", enum: ["bar", "line", "table"] },
      labels: { type: "array", items: { type: "string" }, description: "one per value" },
      values: { type: "array", items: { type: "number" }, description: "the numbers" },
    },
    required: ["labels", "values"],
  },
  readChart,
);

interface FileArgs {
  path: string;
}

const fileSchema = schema<FileArgs>(
  {
    type: "object",
    properties: { path: { type: "string", description: "path of one of the user's files" } },
    required: ["path"],
  },
  (value) => {
    const path = (value as Partial<FileArgs> | null)?.path;
    if (typeof path !== "string" || path === "") throw new Error(say("conversation.pathNeeded"));
    return { path: path.startsWith("/") ? path : `/${path}` };
  },
);

/** Two actions of this page that the oracle can call; their results are drawn in place. */
export function useShipped(): void {
  const session = useSession();
  const files = useMemo(() => new Files(session), [session]);
  useAgAction({
    name: "show_chart",
    // eslint-disable-next-line words/text -- the oracle reads it
    description: "Shows numbers to the user as a bar chart, a line or a table.",
    parameters: chartSchema,
    handler: (data) => Promise.resolve(say("conversation.chartShown", { n: data.values.length })),
    render: ({ status, args, error }) => (
      <Chart args={args} isLoading={status === "isRunning"} error={error} />
    ),
  });
  useAgAction({
    name: "show_file",
    // eslint-disable-next-line words/text -- the oracle reads it
    description: "Shows one of the user's files as a card, with a preview and a way to open it.",
    parameters: fileSchema,
    handler: ({ path }) => files.stat(path),
    render: ({ status, args, result, error }) => (
      <FileCard path={args.path} file={result} isLoading={status === "isRunning"} error={error} />
    ),
  });
}
