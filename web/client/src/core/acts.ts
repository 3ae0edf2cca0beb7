import type { Chat } from "./chat";
import type { OraclesClient } from "./client";
import type { IAttachment, IFeedback, IMessage } from "./types";

/** What a page can do in a conversation, beside sending. */
export interface ChatActs {
  abortStream: () => Promise<void>;
  /** Asks the last turn again, which failed, or sends the message again that was not taken. */
  retry: () => Promise<void>;
  /** Asks a turn again, by the id of any of its messages; the last one without. The old answer stays a version. */
  regenerate: (messageId?: string) => Promise<void>;
  /** Asks something else in place of a message. The old one stays a version. */
  editMessage: (messageId: string, message: string, attachments?: IAttachment[]) => Promise<void>;
  /** Shows a version of a turn: one of the `version.messageIds` of the message that begins it. */
  chooseVersion: (messageId: string) => Promise<void>;
  /** Rates an answer; null takes it back. */
  sendFeedback: (
    messageId: string,
    rating: IFeedback["rating"] | null,
    text?: string,
  ) => Promise<void>;
  /** Shows other messages until the history is read again; the oracle is not told. */
  setMessages: (messages: IMessage[] | ((shown: IMessage[]) => IMessage[])) => void;
  /** Takes away `error` and `sendMessageError`. */
  clearError: () => void;
  refetchMessages: () => Promise<void>;
  loadEarlier: () => Promise<void>;
}

/** What can be done in a conversation; before it is open, its oracle is looked for (find). */
export function actsOf(
  { credentials }: OraclesClient,
  open: () => Chat | undefined,
  find: () => Promise<void>,
): ChatActs {
  const act =
    <Args extends unknown[]>(run: (chat: Chat, ...args: Args) => Promise<void>) =>
    async (...args: Args) => {
      const chat = open();
      if (chat) await run(chat, ...args);
    };
  return {
    abortStream: act((chat) => chat.abort()),
    retry: act((chat) => chat.retry()),
    regenerate: act((chat, id?: string) => chat.askAnew(id)),
    editMessage: act((chat, ...edit: Parameters<ChatActs["editMessage"]>) => chat.askAnew(...edit)),
    chooseVersion: act((chat, id: string) => chat.choose(id)),
    sendFeedback: act((chat, ...told: Parameters<ChatActs["sendFeedback"]>) => chat.rate(...told)),
    setMessages: (next) => {
      const chat = open();
      chat?.setMessages(typeof next === "function" ? next(chat.state.get().messages) : next);
    },
    clearError: () => open()?.clearError(),
    refetchMessages: async () => {
      credentials.askAgain();
      await (open()?.reread() ?? find());
    },
    loadEarlier: act((chat) => chat.loadEarlier()),
  };
}
