import {
  OraclesProvider,
  renderMessageContent,
  useChat,
  useOracleSessions,
} from "@castalia/oracles-client";
import { createBrowserWallet } from "@castalia/oracles-client/wallet";
import { useState } from "react";
import { createRoot } from "react-dom/client";

// The whole page of a newcomer: no server of its own signs anything.
const server = new URLSearchParams(location.search).get("server") ?? "http://127.0.0.1:3000";
const wallet = await createBrowserWallet({ server });
const { oracleDid } = wallet;

function Chat({ sessionId }: { sessionId: string }) {
  const chat = useChat({
    oracleDid,
    sessionId,
    overrides: { baseUrl: server },
    onPaymentRequiredError: (claims) => alert(`To be paid: ${claims.join(", ")}`),
  });
  return (
    <>
      {chat.messages.map((m) => (
        <p key={m.id} className={m.type}>
          {renderMessageContent(m.content)}
        </p>
      ))}
      <button disabled={chat.isSending} onClick={() => void chat.sendMessage("Hello")}>
        Say hello
      </button>
    </>
  );
}

function Page() {
  const { createSession } = useOracleSessions(oracleDid, { baseUrl: server });
  const [sessionId, open] = useState("");
  const [protection, setProtection] = useState(wallet.protection);
  const lock = () => void wallet.lock().then(() => setProtection(wallet.protection));
  return (
    <>
      <p aria-label="You">{wallet.did}</p>
      <button onClick={lock}>{protection}</button>
      {sessionId ? (
        <Chat sessionId={sessionId} />
      ) : (
        <button onClick={() => void createSession().then((made) => open(made.sessionId))}>
          New conversation
        </button>
      )}
    </>
  );
}

createRoot(document.getElementById("root") as HTMLElement).render(
  <OraclesProvider {...wallet.provider}>
    <Page />
  </OraclesProvider>,
);
