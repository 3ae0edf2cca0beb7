import { OraclesProvider } from "@castalia/oracles-client";
import { useEffect, useMemo, useState, type ReactNode } from "react";
import type { Key } from "./identity/key";
import {
  fetchServiceDid,
  loadKey,
  mintDelegation,
  mintInvocation,
  SessionProvider,
  type Session,
} from "./identity/session";
import { SignIn } from "./identity/SignIn";
import { AboutPage } from "./pages/about/AboutPage";
import { CallPage } from "./pages/call/CallPage";
import { CallProvider } from "./pages/call/CallProvider";
import { ChatPage } from "./pages/chat/ChatPage";
import { FilesPage } from "./pages/files/FilesPage";
import { LinkPage } from "./pages/link/LinkPage";
import { OperatorPage } from "./pages/operator/OperatorPage";
import { QueryPage } from "./pages/query/QueryPage";
import { TelephonePage } from "./pages/telephone/TelephonePage";
import { usePath } from "./shell/router";
import { Shell, type PageInfo } from "./shell/Shell";

const pages: (PageInfo & { page: (rest: string) => ReactNode })[] = [
  { path: "chat", title: "Chat", icon: "chat", page: (rest) => <ChatPage sessionId={rest} /> },
  { path: "call", title: "Call", icon: "call", page: (rest) => <CallPage sessionId={rest} /> },
  { path: "files", title: "Files", icon: "files", page: () => <FilesPage /> },
  { path: "telephone", title: "Phone", icon: "telephone", page: () => <TelephonePage /> },
  { path: "query", title: "Query", icon: "query", page: () => <QueryPage /> },
  { path: "operator", title: "Operator", icon: "operator", page: () => <OperatorPage /> },
];

/** The console: a key, then the pages. */
export function App() {
  const [key, setKey] = useState<Key | null>();
  const [serviceDid, setServiceDid] = useState<string>();
  const [error, setError] = useState("");
  useEffect(() => {
    loadKey().then(
      (found) => setKey(found ?? null),
      () => setKey(null),
    );
    fetchServiceDid().then(setServiceDid, (cause: unknown) =>
      setError(cause instanceof Error ? cause.message : String(cause)),
    );
  }, []);
  const session = useMemo<Session | undefined>(
    () => (key && serviceDid ? { key, serviceDid } : undefined),
    [key, serviceDid],
  );
  if (error) {
    return (
      <main className="sign-in">
        <p role="alert" className="card">
          The server can not be reached: {error}. Reload the page to try again.
        </p>
      </main>
    );
  }
  if (key === null) return <SignIn onKey={setKey} />;
  if (!session) return <p className="visually-hidden">Loading…</p>;
  return <SignedIn session={session} onSignOut={() => setKey(null)} />;
}

function SignedIn({ session, onSignOut }: { session: Session; onSignOut: () => void }) {
  const path = usePath();
  const [name = "", ...rest] = path.split("/");
  const found = pages.find((p) => p.path === name);
  const current = found?.path ?? (["about", "link"].includes(name) ? name : "chat");
  return (
    <SessionProvider value={session}>
      <OraclesProvider
        initialWallet={{
          address: session.key.did,
          did: session.key.did,
          matrix: { accessToken: "", homeServer: "" },
        }}
        transactSignX={() =>
          Promise.reject(new Error("The console has no wallet for transactions."))
        }
        createDelegation={async () => mintDelegation(session)}
        createInvocation={async () => mintInvocation(session)}
      >
        <CallProvider>
          <Shell
            pages={[...pages, { path: "about", title: "About", icon: "about" }]}
            current={current}
            who={null}
          >
            {name === "about" ? (
              <AboutPage onSignOut={onSignOut} />
            ) : name === "link" ? (
              <LinkPage />
            ) : (
              (found ?? pages[0])?.page(rest.map(decodeURIComponent).join("/"))
            )}
          </Shell>
        </CallProvider>
      </OraclesProvider>
    </SessionProvider>
  );
}
