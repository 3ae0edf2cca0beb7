import type { UIComponents } from "@castalia/oracles-client";
import { Chart } from "./components/Chart";
import { EntityCard } from "./components/EntityCard";
import { FileCard } from "./components/FileCard";

/** What the oracle may draw by name. */
export const uiComponents: UIComponents = {
  Chart: (props: Record<string, unknown> & { isLoading?: boolean }) => (
    <Chart args={props} isLoading={props.isLoading === true} />
  ),
  FileCard: (props: { path?: string; file?: unknown; isLoading?: boolean }) => (
    <FileCard {...props} />
  ),
  EntityCard: (props: Record<string, unknown>) => <EntityCard {...props} />,
};

/** Told to the oracle with each message: what it may draw here with `show_component`. */
export const drawable = { uiComponents: ["Chart", "FileCard"] };
