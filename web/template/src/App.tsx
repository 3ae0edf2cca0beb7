import { useOracleSessions } from "@castalia/oracles-client";
import type { Wallet } from "@castalia/oracles-client/wallet";
import { useState } from "react";
import { Chat } from "./Chat";

export interface Place {
  server: string;
  wallet: Wallet;
}

/** The user's conversations; the one in the address of the page is open. */
export function App({ server, wallet }: Place) {
  const { sessions, createSession, isCreatingSession, error, refetch } = useOracleSessions(
    wallet.oracleDid,
    { baseUrl: server },
  );
  const [chosen, choose] = useState(() => decodeURIComponent(location.hash.slice(1)));
  const open = (sessionId: string) => {
    location.hash = sessionId && encodeURIComponent(sessionId);
    choose(sessionId);
    void refetch(); // Conversations have got their titles meanwhile.
  };
  const begin = () =>
    createSession().then(
      ({ sessionId }) => open(sessionId),
      () => undefined, // It is in `error`.
    );

  if (chosen) {
    return (
      <>
        <button onClick={() => open("")}>All conversations</button>
        <Chat key={chosen} server={server} wallet={wallet} sessionId={chosen} />
      </>
    );
  }
  return (
    <>
      <h1>Ask the oracle</h1>
      <button disabled={isCreatingSession} onClick={begin}>
        New conversation
      </button>
      {error && <p role="alert">{error.message}</p>}
      <ul>
        {sessions.map(({ sessionId, title, createdAt }) => (
          <li key={sessionId}>
            <button onClick={() => open(sessionId)}>{title || createdAt}</button>
          </li>
        ))}
      </ul>
    </>
  );
}
