import { Composer, LabelsProvider } from "@castalia/oracles-ui";

const words = {
  entry: "Your first message",
  send: "Start a conversation",
  sendKey: "Start a conversation (Enter)",
};

/** There is no conversation yet: nothing is under way, and nothing to stop. */
const none = {
  isSending: false,
  sendMessage: () => Promise.resolve(),
  abortStream: () => Promise.resolve(),
};

/** Where a conversation begins: what is written here is its first message. */
export function Opening({ onSay }: { onSay: (text: string) => Promise<boolean> }) {
  return (
    <div className="opening">
      <LabelsProvider labels={words}>
        <Composer chat={none} onSend={onSay} />
      </LabelsProvider>
    </div>
  );
}
