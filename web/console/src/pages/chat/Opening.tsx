import { Composer, LabelsProvider } from "@castalia/oracles-ui";
import { useMemo } from "react";
import { say } from "../../words";

/** There is no conversation yet: nothing is under way, and nothing to stop. */
const none = {
  isSending: false,
  sendMessage: () => Promise.resolve(),
  abortStream: () => Promise.resolve(),
};

/** Where a conversation begins: what is written here is its first message. */
export function Opening({ onSay }: { onSay: (text: string) => Promise<boolean> }) {
  const words = useMemo(
    () => ({
      entry: say("chat.firstMessage"),
      send: say("chat.startConversation"),
      sendKey: say("chat.startConversationKey"),
    }),
    [],
  );
  return (
    <div className="opening">
      <LabelsProvider labels={words}>
        <Composer chat={none} onSend={onSay} />
      </LabelsProvider>
    </div>
  );
}
