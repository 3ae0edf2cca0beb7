import { useLabels } from "../labels";
import { pretty } from "./pretty";

/** What `uiComponents` are told of a call. */
export interface ToolCardProps {
  toolName?: string;
  args?: Record<string, unknown>;
  status?: string;
  output?: string;
  error?: string;
  isLoading?: boolean;
}

/** A call with what went in and what came out, folded. */
export function ToolCard({
  toolName,
  args = {},
  status,
  output,
  error,
  isLoading = false,
}: ToolCardProps) {
  const labels = useLabels();
  const mood = status === "error" ? "bad" : isLoading ? "busy" : "good";
  const word = { bad: labels.toolFailed, busy: labels.toolRunning, good: labels.toolDone };
  const brief = Object.values(args)
    .filter((v) => typeof v === "string" || typeof v === "number")
    .join(", ");
  return (
    <details className="castalia-tool">
      <summary>
        <span className={`castalia-dot castalia-${mood}`} />
        <bdi className="castalia-mono">{toolName}</bdi>
        <bdi className="castalia-brief">{brief}</bdi>
        <span className="castalia-soft">{word[mood]}</span>
      </summary>
      {Object.keys(args).length > 0 && (
        <>
          <h3>{labels.toolAsked}</h3>
          <pre dir="ltr" tabIndex={0}>
            {JSON.stringify(args, null, 2)}
          </pre>
        </>
      )}
      {(output ?? error) && (
        <>
          <h3>{error ? labels.toolError : labels.toolAnswered}</h3>
          <pre dir="ltr" tabIndex={0}>
            {pretty(output ?? error)}
          </pre>
        </>
      )}
    </details>
  );
}
