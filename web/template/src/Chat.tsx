import { useChat } from "@castalia/oracles-client";
import { useApprovals } from "@castalia/oracles-client/approvals";
import { useAttachments } from "@castalia/oracles-client/attachments";
import { Approvals, Composer, Thread, useFileDrop } from "@castalia/oracles-ui";
import { useState } from "react";
import type { Place } from "./App";

/** One conversation. Thread shows what was said and what went wrong, Composer is where people write. */
export function Chat(props: Place & { sessionId: string; onTurn: () => void }) {
  const { server, wallet, sessionId, onTurn } = props;
  const { oracleDid, fileToken, grant } = wallet;
  const overrides = { baseUrl: server };
  const [claims, setClaims] = useState<string[]>();
  const chat = useChat({
    oracleDid,
    sessionId,
    overrides,
    onPaymentRequiredError: setClaims,
    onEvent: ({ eventName }) => eventName === "message_cache_invalidation" && onTurn(),
  });
  const waiting = useApprovals({ oracleDid, sessionId, overrides });
  // The oracle may read what is attached, and nothing else.
  const attachments = useAttachments({ oracleDid, overrides, fileToken, grant });
  const drop = useFileDrop(attachments.upload);

  return (
    <main className={drop.isDragging ? "chat dragging" : "chat"} {...drop.area}>
      <a className="back" href="#">
        All conversations
      </a>
      <Thread chat={chat} empty={<p>Ask something.</p>}>
        <Approvals waiting={waiting} />
        {claims && <p role="alert">To be paid first: {claims.join(", ")}</p>}
      </Thread>
      <Composer chat={chat} attachments={attachments} isOpened />
    </main>
  );
}
