import type { ReactNode } from "react";
import { useFeatures } from "../../shell/features";
import { Link } from "../../shell/Link";
import { ProgramsView } from "./ProgramsView";
import { ToolsView } from "./ToolsView";
import { WebhooksView } from "./WebhooksView";
import "./connect.css";

interface View {
  path: string;
  title: string;
  plugin?: string;
  page: () => ReactNode;
}

const views: View[] = [
  { path: "", title: "Programs", page: () => <ProgramsView /> },
  { path: "tools", title: "Tools", plugin: "mcp", page: () => <ToolsView /> },
  { path: "webhooks", title: "Webhooks", page: () => <WebhooksView /> },
];

/** Programs that talk to this oracle, servers that it uses, and programs that it tells of events. */
export default function ConnectPage({ view }: { view: string }) {
  const { plugins } = useFeatures();
  const offered = views.filter((v) => !v.plugin || plugins.includes(v.plugin));
  const shown = offered.find((v) => v.path === view) ?? offered[0];
  return (
    <div className="page connect">
      <header className="page-head">
        <h1>Connect your program</h1>
      </header>
      <nav className="tabs" aria-label="Connect">
        {offered.map((v) => (
          <Link key={v.path} to={v.path ? `connect/${v.path}` : "connect"} current={v === shown}>
            {v.title}
          </Link>
        ))}
      </nav>
      {shown?.page()}
    </div>
  );
}
