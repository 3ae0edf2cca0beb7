import type { ReactNode } from "react";
import { useFeatures } from "../../shell/features";
import { Link } from "../../shell/Link";
import { say, type Key } from "../../words";
import { ProgramsView } from "./ProgramsView";
import { ToolsView } from "./ToolsView";
import { WebhooksView } from "./WebhooksView";
import "./connect.css";

interface View {
  path: string;
  title: Key;
  plugin?: string;
  page: () => ReactNode;
}

const views: View[] = [
  { path: "", title: "connect.programs", page: () => <ProgramsView /> },
  { path: "tools", title: "connect.tools", plugin: "mcp", page: () => <ToolsView /> },
  { path: "webhooks", title: "connect.webhooks", page: () => <WebhooksView /> },
];

/** Programs that talk to this oracle, servers that it uses, and programs that it tells of events. */
export default function ConnectPage({ view }: { view: string }) {
  const { plugins } = useFeatures();
  const offered = views.filter((v) => !v.plugin || plugins.includes(v.plugin));
  const shown = offered.find((v) => v.path === view) ?? offered[0];
  return (
    <div className="page connect">
      <header className="page-head">
        <h1>{say("connect.title")}</h1>
      </header>
      <nav className="tabs" aria-label={say("shell.connect")}>
        {offered.map((v) => (
          <Link key={v.path} to={v.path ? `connect/${v.path}` : "connect"} current={v === shown}>
            {say(v.title)}
          </Link>
        ))}
      </nav>
      {shown?.page()}
    </div>
  );
}
