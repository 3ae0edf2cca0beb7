import { OraclesProvider } from "@castalia/oracles-client";
import {
  lazy,
  Suspense,
  useEffect,
  useMemo,
  useState,
  type ComponentType,
  type ReactNode,
} from "react";
import { mintDelegation } from "./identity/consent";
import { isCopyDue } from "./identity/copyDue";
import { fetchServiceDid, mintInvocation, SessionProvider, type Session } from "./identity/session";
import { SignIn } from "./identity/SignIn";
import { loadKey, type KeptKey } from "./identity/vault";
import { Boundary } from "./shell/Boundary";
import {
  everything,
  fetchFeatures,
  FeaturesProvider,
  renamed,
  type Features,
} from "./shell/features";
import { messageOf } from "./shell/format";
import { Icon } from "./shell/icons";
import { go, usePath } from "./shell/router";
import { Mark, Shell, type PageInfo } from "./shell/Shell";
import { useShortcuts, type Shortcut } from "./shell/shortcuts";
import { loadWords, say, type Area } from "./words";

/** A page with its words, which are loaded beside it. */
function worded<P extends object>(
  areas: Area[],
  load: () => Promise<{ default: ComponentType<P> }>,
) {
  return lazy(async () => (await Promise.all([load(), loadWords(...areas)]))[0]);
}

/** A page that asks the server through TanStack Query, which comes with it: the chat does without. */
function asking<P extends object>(
  areas: Area[],
  load: () => Promise<{ default: ComponentType<P> }>,
) {
  return worded(areas, async () => {
    const [{ Asking }, { default: Page }] = await Promise.all([import("./shell/Asking"), load()]);
    return {
      default: (props: P) => (
        <Asking>
          <Page {...props} />
        </Asking>
      ),
    };
  });
}

// Each page is loaded when it is opened.
const AboutPage = asking(["about", "copy", "keys"], () => import("./pages/about/AboutPage"));
const CallPage = asking(["call"], () => import("./pages/call/CallPage"));
const CallProvider = worded(["call"], () => import("./pages/call/CallProvider"));
const ChatPage = worded(["chat"], () => import("./pages/chat/ChatPage"));
const ConnectPage = asking(["connect"], () => import("./pages/connect/ConnectPage"));
const FilesPage = asking(["files"], () => import("./pages/files/FilesPage"));
const InvitePage = asking(["invite"], () => import("./pages/invite/InvitePage"));
const KnowledgePage = asking(
  ["knowledge", "files"],
  () => import("./pages/knowledge/KnowledgePage"),
);
const CopyNotice = worded(["copy"], () => import("./identity/CopyNotice"));
const KeyNotice = worded(["keys"], () => import("./identity/KeyNotice"));
const LinkPage = asking(["link"], () => import("./pages/link/LinkPage"));
const NoSuchPage = worded(["absent"], () => import("./shell/NoSuchPage"));
const OperatorPage = asking(
  ["operator", "knowledge", "keys"],
  () => import("./pages/operator/OperatorPage"),
);
const QueryPage = asking(["query"], () => import("./pages/query/QueryPage"));
const SetupPage = asking(["setup", "invite", "choices"], () => import("./pages/setup/SetupPage"));
const SharePage = asking(["share", "files"], () => import("./pages/share/SharePage"));
const ShortcutList = lazy(() => import("./shell/ShortcutList"));
const TelephonePage = asking(["telephone"], () => import("./pages/telephone/TelephonePage"));

interface Page extends PageInfo {
  /** The service that it needs. */
  service?: string;
  /** The key after g that leads to it; the first of its path otherwise. */
  key?: string;
  page: (rest: string) => ReactNode;
}

const pages: Page[] = [
  {
    path: "chat",
    title: "shell.chat",
    icon: "chat",
    service: "oracle",
    page: (rest) => <ChatPage sessionId={rest} />,
  },
  {
    path: "call",
    title: "shell.call",
    icon: "call",
    key: "v",
    service: "oracle",
    page: (rest) => <CallPage sessionId={rest} />,
  },
  {
    path: "files",
    title: "shell.files",
    icon: "files",
    service: "filestore",
    page: (rest) => <FilesPage folder={rest} />,
  },
  {
    path: "knowledge",
    title: "shell.knowledge",
    icon: "book",
    service: "filestore",
    page: () => <KnowledgePage />,
  },
  {
    path: "telephone",
    title: "shell.phone",
    icon: "telephone",
    service: "ussd",
    page: () => <TelephonePage />,
  },
  {
    path: "query",
    title: "shell.query",
    icon: "query",
    service: "query",
    page: () => <QueryPage />,
  },
  {
    path: "connect",
    title: "shell.connect",
    icon: "plug",
    key: "p",
    service: "oracle",
    page: (rest) => <ConnectPage view={rest} />,
  },
  {
    path: "operator",
    title: "shell.operator",
    icon: "operator",
    page: (rest) => <OperatorPage view={rest} />,
  },
];

/** The console: a key, then the pages. A shared link needs no key of one's own. */
export function App() {
  const path = usePath();
  const [key, setKey] = useState<KeptKey | null>();
  const [served, setServed] = useState<{ did: string; features: Features }>();
  const [error, setError] = useState("");
  useEffect(() => {
    loadKey().then(
      (found) => setKey(found ?? null),
      () => setKey(null),
    );
    Promise.all([fetchServiceDid(), fetchFeatures()]).then(
      ([did, features]) => setServed({ did, features }),
      (cause: unknown) => setError(messageOf(cause)),
    );
  }, []);
  useEffect(() => {
    const again = () =>
      void fetchFeatures().then((features) => {
        if (features !== everything) setServed((now) => now && { ...now, features });
      });
    addEventListener(renamed, again);
    return () => removeEventListener(renamed, again);
  }, []);
  const session = useMemo<Session | undefined>(
    () => (key && served ? { key, serviceDid: served.did } : undefined),
    [key, served],
  );
  if (error) {
    return (
      <main className="sign-in">
        <div className="card">
          <div className="sign-in-mark">
            <Mark />
          </div>
          <h1>{say("shell.nobodyAnswers")}</h1>
          <p role="alert">{error}</p>
          <button className="primary wide" type="button" onClick={() => location.reload()}>
            {say("shell.tryAgain")}
          </button>
        </div>
      </main>
    );
  }
  if (path === "share") {
    return served ? <Loaded page={<SharePage serviceDid={served.did} />} /> : null;
  }
  if (key === null) return <SignIn onKey={setKey} />;
  if (!session || !served) return <p className="visually-hidden">{say("shell.loading")}</p>;
  if (path === "invite") return <Loaded page={<InvitePage session={session} />} />;
  if (path === "setup") {
    return (
      <SessionProvider value={session}>
        <FeaturesProvider value={served.features}>
          <Loaded page={<SetupPage session={session} />} />
        </FeaturesProvider>
      </SessionProvider>
    );
  }
  return (
    <FeaturesProvider value={served.features}>
      <SignedIn
        session={session}
        features={served.features}
        onKey={setKey}
        onSignOut={() => setKey(null)}
      />
    </FeaturesProvider>
  );
}

function SignedIn(props: {
  session: Session;
  features: Features;
  onKey: (key: KeptKey) => void;
  onSignOut: () => void;
}) {
  const { session, features } = props;
  const path = usePath();
  const [help, setHelp] = useState(false);
  const [isDue] = useState(isCopyDue);
  const offered = useMemo(
    () => pages.filter((p) => !p.service || features.services.includes(p.service)),
    [features],
  );
  const shortcuts = useMemo<Shortcut[]>(
    () => [
      ...offered.map((p) => ({
        keys: `g ${p.key ?? p.path[0]}`,
        does: say("shell.goTo", { page: say(p.title) }),
        run: () => go(p.path),
      })),
      {
        keys: "g a",
        does: say("shell.goTo", { page: say("shell.about") }),
        run: () => go("about"),
      },
      { keys: "n", does: say("shell.newConversation"), run: () => go("chat/new") },
      {
        keys: "/",
        does: say("shell.searchOrWrite"),
        run: () => focusOn("[data-entry], [data-castalia-entry]"),
      },
      {
        keys: "s",
        does: say("shell.searchConversations"),
        run: () => focusOn("[data-castalia-search]"),
      },
      { keys: "?", does: say("shell.showThisList"), run: () => setHelp(true) },
    ],
    [offered],
  );
  useShortcuts(shortcuts);
  const [name = "", ...rest] = path.split("/");
  const isAbout = name === "about";
  const isOther = isAbout || name === "link";
  const shown = name ? offered.find((p) => p.path === name) : offered[0];
  const isAbsent = name !== "" && !shown && !isOther;
  const current = isOther || isAbsent ? name : (shown?.path ?? "about");
  return (
    <SessionProvider value={session}>
      <OraclesProvider
        initialWallet={{
          address: session.key.did,
          did: session.key.did,
          matrix: { accessToken: "", homeServer: "" },
        }}
        transactSignX={() => Promise.reject(new Error(say("shell.noWallet")))}
        createDelegation={() => mintDelegation(session)}
        createInvocation={() => mintInvocation(session)}
      >
        <Telephone isOpened={current === "call"}>
          <Shell
            pages={[...offered, { path: "about", title: "shell.about", icon: "about" }]}
            current={current}
            onHelp={() => setHelp(true)}
          >
            {isDue && session.key.protection === "wrapped" && (
              <Quiet>
                <CopyNotice />
              </Quiet>
            )}
            {features.services.includes("ussd") && (
              <Quiet>
                <KeyNotice />
              </Quiet>
            )}
            <Boundary key={current} fallback={(problem) => <Broken problem={problem} />}>
              <Loaded
                page={
                  name === "link" ? (
                    <LinkPage />
                  ) : isAbsent ? (
                    <NoSuchPage to={offered[0]?.path} named={offered[0]?.title} />
                  ) : isAbout || !shown ? (
                    <AboutPage onKey={props.onKey} onSignOut={props.onSignOut} />
                  ) : (
                    shown.page(rest.map(decodeURIComponent).join("/"))
                  )
                }
              />
            </Boundary>
          </Shell>
          {help && (
            <Suspense>
              <ShortcutList shortcuts={shortcuts} onClose={() => setHelp(false)} />
            </Suspense>
          )}
        </Telephone>
      </OraclesProvider>
    </SessionProvider>
  );
}

/** Whether the tab was reloaded in the middle of a call, which goes on: see useLiveAgent. */
function isLeft(): boolean {
  return Object.keys(sessionStorage).some((key) => key.startsWith("castalia-call:"));
}

/** A call goes on while other pages are read. Who never opens its page does not load it. */
function Telephone({ isOpened, children }: { isOpened: boolean; children: ReactNode }) {
  const [wasOpened, setOpened] = useState(() => isOpened || isLeft());
  if (isOpened && !wasOpened) setOpened(true);
  if (!wasOpened && !isOpened) return children;
  return <Loaded page={<CallProvider>{children}</CallProvider>} />;
}

/** What comes beside a page: nothing of it is shown while it is loaded, or when it cannot be. */
function Quiet({ children }: { children: ReactNode }) {
  return (
    <Boundary fallback={() => null}>
      <Suspense>{children}</Suspense>
    </Boundary>
  );
}

function Loaded({ page }: { page: ReactNode }) {
  return <Suspense fallback={<p className="page soft">{say("shell.loading")}</p>}>{page}</Suspense>;
}

/** A page that cannot be drawn; the others still can. */
function Broken({ problem }: { problem: string }) {
  return (
    <div className="page">
      <section className="card nothing" role="alert">
        <Icon name="about" />
        <h1>{say("shell.cannotShow")}</h1>
        <p className="soft">{problem}</p>
        <p>
          <button type="button" onClick={() => location.reload()}>
            {say("shell.loadAgain")}
          </button>
        </p>
      </section>
    </div>
  );
}

/** Puts the cursor into a field, where this page has it. */
function focusOn(field: string): void {
  document.querySelector<HTMLElement>(field)?.focus();
}
