import {
  lazy,
  Suspense,
  useEffect,
  useRef,
  useState,
  type ComponentType,
  type FormEvent,
  type ReactNode,
} from "react";
import { useFeatures } from "../../shell/features";
import { Icon } from "../../shell/icons";
import { Link } from "../../shell/Link";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { loadWords, say, type Key } from "../../words";
import { enteredToken, keepOperatorToken, useMe } from "./api";
import { AccountsView } from "./AccountsView";
import { AuditView } from "./AuditView";
import { BackupsView } from "./BackupsView";
import { HealthView } from "./HealthView";
import { KnowledgeView } from "./KnowledgeView";
import { LogsView } from "./LogsView";
import { MenuView } from "./MenuView";
import "./operator.css";
import { PeopleView } from "./PeopleView";
import { QueryView } from "./QueryView";
import { SessionsView } from "./SessionsView";

const MenuEditor = lazy(
  async () => (await Promise.all([import("./menu/MenuEditor"), loadWords("menu")]))[0],
);

const NoSuchPage = lazy(
  async () => (await Promise.all([import("../../shell/NoSuchPage"), loadWords("absent")]))[0],
);

const OracleView = lazy(
  async () => (await Promise.all([import("./oracle/OracleView"), loadWords("choices")]))[0],
);

const OwingView = lazy(
  async () => (await Promise.all([import("./owing/OwingView"), loadWords("owing")]))[0],
);

const PhonesView = lazy(
  async () => (await Promise.all([import("./phones/PhonesView"), loadWords("phones")]))[0],
);

const PluginsView = lazy(
  async () => (await Promise.all([import("./PluginsView"), loadWords("titles")]))[0],
);

const RetentionView = lazy(
  async () => (await Promise.all([import("./RetentionView"), loadWords("titles")]))[0],
);

const SettingsView = lazy(
  async () => (await Promise.all([import("./SettingsView"), loadWords("titles")]))[0],
);

const UsageView = lazy(
  async () => (await Promise.all([import("./usage/UsageView"), loadWords("usage")]))[0],
);

interface View {
  path: string;
  title: Key;
  service?: string;
  /** The plugin without which there is nothing to see. */
  plugin?: string;
  page: (rest: string) => ReactNode;
}

const views: View[] = [
  { path: "", title: "operator.health", page: () => <HealthView /> },
  {
    path: "oracle",
    title: "operator.oracle",
    page: () => <Loaded page={OracleView} />,
  },
  {
    path: "sessions",
    title: "operator.sessions",
    service: "ussd",
    page: (rest) => <SessionsView selected={rest} />,
  },
  {
    path: "menu",
    title: "operator.menu",
    service: "ussd",
    page: (rest) =>
      rest === "edit" ? (
        <Suspense fallback={<Skeleton lines={8} label={say("operator.openingEditor")} />}>
          <MenuEditor />
        </Suspense>
      ) : (
        <MenuView />
      ),
  },
  { path: "accounts", title: "operator.accounts", service: "ussd", page: () => <AccountsView /> },
  {
    path: "telephone",
    title: "operator.telephoneUse",
    service: "ussd",
    page: () => <Loaded page={PhonesView} />,
  },
  { path: "nodes", title: "operator.nodes", service: "query", page: () => <QueryView /> },
  {
    path: "knowledge",
    title: "shell.knowledge",
    service: "filestore",
    page: () => <KnowledgeView />,
  },
  { path: "people", title: "operator.people", page: () => <PeopleView /> },
  {
    path: "usage",
    title: "operator.usage",
    service: "oracle",
    page: () => <Loaded page={UsageView} />,
  },
  {
    path: "owing",
    title: "operator.owing",
    plugin: "credits",
    page: () => <Loaded page={OwingView} />,
  },
  { path: "plugins", title: "operator.plugins", page: () => <Loaded page={PluginsView} /> },
  { path: "settings", title: "operator.settings", page: () => <Loaded page={SettingsView} /> },
  { path: "backups", title: "operator.backups", page: () => <BackupsView /> },
  { path: "retention", title: "operator.retention", page: () => <Loaded page={RetentionView} /> },
  { path: "logs", title: "operator.logs", page: () => <LogsView /> },
  { path: "audit", title: "operator.auditTrail", page: () => <AuditView /> },
];

/** A view that is loaded when it is opened, with its words. */
function Loaded({ page: Page }: { page: ComponentType }) {
  return (
    <Suspense fallback={<Skeleton lines={8} label={say("operator.asking")} />}>
      <Page />
    </Suspense>
  );
}

/** What the person who runs this server wants to see. */
export default function OperatorPage({ view }: { view: string }) {
  const { services, plugins } = useFeatures();
  const me = useMe();
  const isOpen = !!me.data;

  // On a narrow screen the tabs scroll; the one that is shown is in sight.
  const tabs = useRef<HTMLElement>(null);
  useEffect(() => {
    const bar = tabs.current;
    const now = bar?.querySelector<HTMLElement>('[aria-current="page"]');
    if (bar && now) bar.scrollLeft = now.offsetLeft - bar.offsetLeft - 40;
  }, [isOpen, view]);

  const [name = "", ...rest] = view.split("/");
  const offered = views.filter(
    (v) =>
      (!v.service || services.includes(v.service)) && (!v.plugin || plugins.includes(v.plugin)),
  );
  const shown = offered.find((v) => v.path === name);
  return (
    <div className="page operator">
      <header className="page-head">
        <div>
          <h1>{say("shell.operator")}</h1>
          <p className="soft">{say("operator.what")}</p>
        </div>
      </header>
      {isOpen ? (
        <>
          <nav className="tabs" aria-label={say("shell.operator")} ref={tabs}>
            {offered.map((v) => (
              <Link
                key={v.path}
                to={v.path ? `operator/${v.path}` : "operator"}
                current={v === shown}
              >
                {say(v.title)}
              </Link>
            ))}
          </nav>
          {shown ? (
            shown.page(rest.join("/"))
          ) : (
            <Suspense>
              <NoSuchPage to="operator" named="operator.health" isInner />
            </Suspense>
          )}
        </>
      ) : me.data === null ? (
        <TokenForm onToken={me.again} />
      ) : me.error ? (
        <div className="stack no-entry">
          <Problem error={me.error} />
          <button type="button" onClick={() => void me.again()}>
            <Icon name="restore" /> {say("shell.tryAgain")}
          </button>
        </div>
      ) : (
        <Skeleton lines={5} label={say("operator.asking")} />
      )}
    </div>
  );
}

function TokenForm({ onToken }: { onToken: () => Promise<unknown> }) {
  const [token, setToken] = useState(enteredToken);
  const [tried, setTried] = useState(false);
  function enter(event: FormEvent) {
    event.preventDefault();
    keepOperatorToken(token);
    setTried(false);
    void onToken().then(() => setTried(true));
  }
  return (
    <form className="card stack token-form" onSubmit={enter}>
      <p>{say("operator.tokenHint")}</p>
      <label>
        {say("operator.token")}
        <input
          type="password"
          autoComplete="off"
          value={token}
          onChange={(event) => setToken(event.target.value)}
        />
      </label>
      <button className="primary" type="submit" disabled={token === ""}>
        {say("operator.enter")}
      </button>
      {tried && (
        <p role="alert" className="bad small">
          {say("operator.tokenRefused")}
        </p>
      )}
    </form>
  );
}
