import { useOracleSessions } from "@castalia/oracles-client";
import type { Wallet } from "@castalia/oracles-client/wallet";
import { SessionList } from "@castalia/oracles-ui";
import { useEffect, useState } from "react";
import { Chat } from "./Chat";

export interface Place {
  server: string;
  wallet: Wallet;
}

const hrefOf = (sessionId: string) => `#${encodeURIComponent(sessionId)}`;
const openNow = () => decodeURIComponent(location.hash.slice(1));

/** The user's conversations, and the one in the address of the page. */
export function App({ server, wallet }: Place) {
  const { oracleDid } = wallet;
  const overrides = { baseUrl: server };
  const list = useOracleSessions(oracleDid, overrides);
  const [current, setCurrent] = useState(openNow);
  useEffect(() => {
    const follow = () => setCurrent(openNow());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  const open = (sessionId: string) => (location.hash = hrefOf(sessionId));
  // The list shows why it could not.
  const begin = async () => {
    open((await list.createSession()).sessionId);
  };

  return (
    <div className={current ? "page talking" : "page"}>
      <SessionList
        list={list}
        oracleDid={oracleDid}
        overrides={overrides}
        current={current}
        onNew={begin}
        onOpen={open}
        hrefOf={hrefOf}
        onDelete={async ({ sessionId }, title) => {
          if (!confirm(`Delete “${title}”?`)) return false;
          await list.deleteSession(sessionId);
          if (sessionId === current) open("");
          return true;
        }}
      />
      {current ? (
        <Chat
          key={current}
          server={server}
          wallet={wallet}
          sessionId={current}
          onTurn={() => void list.refetch()} // a first turn gives its conversation a title
        />
      ) : (
        <main className="welcome">
          <h1>Ask the oracle</h1>
          <p>Choose a conversation, or begin one.</p>
        </main>
      )}
    </div>
  );
}
