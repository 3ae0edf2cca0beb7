import { useChat } from "@castalia/oracles-client";
import { useState } from "react";
import type { Place } from "./App";
import { Composer } from "./Composer";
import { MessageView } from "./MessageView";

/** What fails is told by `status`, `error` and `sendMessageError`. */
const quietly = () => undefined;

export function Chat({ server, wallet, sessionId }: Place & { sessionId: string }) {
  const [claims, setClaims] = useState<string[]>();
  const chat = useChat({
    oracleDid: wallet.oracleDid,
    sessionId,
    overrides: { baseUrl: server },
    onPaymentRequiredError: setClaims,
  });
  const last = chat.messages.at(-1);
  return (
    <>
      {chat.hasEarlier && (
        <button disabled={chat.isLoadingEarlier} onClick={() => void chat.loadEarlier()}>
          Earlier messages
        </button>
      )}
      {chat.messages.map((message) => (
        <MessageView key={message.id} message={message} />
      ))}
      {last?.type === "ai" && chat.status === "ready" && (
        <button onClick={() => chat.regenerate().catch(quietly)}>Answer again</button>
      )}
      {chat.status === "error" && (
        <p role="alert">
          {(chat.sendMessageError ?? chat.error)?.message}{" "}
          <button onClick={() => chat.retry().catch(quietly)}>Try again</button>
        </p>
      )}
      {claims && <p role="alert">To be paid first: {claims.join(", ")}</p>}
      <p role="status">
        {chat.isSending ? "The oracle is answering" : ""}
        {chat.isRealTimeConnected ? "" : " Connecting…"}
      </p>
      <Composer
        server={server}
        wallet={wallet}
        isSending={chat.isSending}
        onSend={chat.sendMessage}
        onStop={() => void chat.abortStream()}
      />
    </>
  );
}
