import { RequestError } from "@castalia/oracles-client";
import { createContext, useContext, useMemo, type ReactNode } from "react";

/** A request that the oracle refused. */
export interface Refused {
  status: number;
  /** Its name for programs, which stays when the words change; pages of another origin are not told. */
  code: string | undefined;
  /** What the oracle said, in English. */
  message: string;
}

const count = (n: number, one: string) => `${n.toLocaleString("en")} ${n === 1 ? one : `${one}s`}`;

function size(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; bytes >= 1024 && i < units.length - 1; i++) bytes /= 1024;
  return `${bytes < 10 && i > 0 ? bytes.toFixed(1) : Math.round(bytes)} ${units[i]}`;
}

/** All that the components say, in English. */
export const english = {
  you: "You",
  oracle: "The oracle",
  messages: "Messages",
  nothingSaid: "Ask anything.",
  reading: "Reading the conversation",
  earlier: "Earlier messages",
  newest: "Go to the newest message",
  sending: "Sending",
  answering: "The oracle is answering.",
  answered: (text: string) => `The oracle: ${text}`,
  moreToRead: "There is more in the messages.",
  codeBlock: "A block of code.",
  tableOf: (rows: number) => `A table with ${count(rows, "row")}.`,
  table: "Table",
  tryAgain: "Try again",
  retrying: "Trying again…",
  retryNow: "Retry now",
  notAllowed: "Ask whoever runs this oracle to let you do this.",
  notThere: "This conversation is not there any more. Begin a new one.",
  tooLarge: "Make the message shorter, or attach less.",
  sayOtherwise: "Change it, and send it again.",
  unreachable: "The server cannot be reached.",
  /** Why the oracle refused something: for other languages, by what it calls that. */
  refused: ({ message }: Refused): string => message,
  wrong: "Something went wrong.",
  cannotShow: (problem: string) => `This part cannot be shown: ${problem}`,

  thinking: "Thinking…",
  thought: "Reasoning",
  copy: "Copy",
  copied: "Copied",
  copyCode: "Copy the code",
  copyAnswer: "Copy the answer",
  cannotCopy: "This browser does not let the page copy.",
  askAgain: "Ask again",
  goodAnswer: "Good answer",
  badAnswer: "Bad answer",
  editQuestion: "Edit the question",
  question: "The question",
  cancel: "Cancel",
  ask: "Ask",
  version: (number: number, of: number) => `Version ${number} of ${of}`,
  earlierVersion: "Earlier version",
  laterVersion: "Later version",
  sources: "Sources",
  page: (number: number) => `page ${number}`,
  wholePassage: "The whole passage",

  toolRunning: "running…",
  toolFailed: "failed",
  toolDone: "done",
  toolAsked: "Asked",
  toolAnswered: "Answered",
  toolError: "Failed",

  entry: "Your message",
  placeholder: "Ask anything",
  send: "Send",
  sendKey: "Send (Enter)",
  stop: "Stop the answer",
  stopKey: "Stop the answer (Esc)",
  attach: "Attach files",
  attachments: "Attached files",
  filesToAttach: "Files to attach",
  sendingLater: "Your message goes out when the files are stored.",
  doNotSend: "Do not send it yet",
  doNotAttach: (name: string) => `Do not attach ${name}`,
  /** What is asked when files are sent without a word. */
  whatIsIn: (names: string) => `What is in ${names}?`,
  size,

  mayUse: (tool: string) => `May the oracle use ${tool}?`,
  asksToUse: (tool: string) => `The oracle asks: may it use ${tool}?`,
  belongsTo: (server: string) => `It belongs to ${server}.`,
  whyConfirm: "This tool asks before it does anything.",
  whyOperator: "Tools of other servers ask you first.",
  whyUntrusted:
    "The oracle has read text that others wrote, so it asks before it changes anything.",
  whyDelegation: "It needs your permission.",
  asksYou: (from: string, tool: string) => `${from} asks you, for ${tool}`,
  goesTo: (from: string) => `What you write goes to ${from}. Give no passwords or PINs.`,
  giveAnswer: "Answer",
  giveNone: "Do not answer",
  optional: "(optional)",
  allow: "Allow",
  deny: "Deny",
  tooLate: (tool: string) => `Nobody answered in time, so ${tool} was not used.`,
  yes: "yes",
  no: "no",
  nothing: "nothing",

  conversations: "Conversations",
  newConversation: "New conversation",
  searchConversations: "Search conversations",
  search: "Search",
  searching: "Searching",
  readingConversations: "Reading your conversations",
  found: (conversations: number) => `${count(conversations, "conversation")} found`,
  noneFound: "Nothing was said with these words.",
  none: "No conversations yet.",
  moreFound: "More found",
  older: "Older conversations",
  today: "Today",
  yesterday: "Yesterday",
  thisWeek: "This week",
  earlierDays: "Earlier",
  remove: "Delete",
  removeOne: (title: string) => `Delete ${title}`,
  untitled: "what has no title yet",
  when: (time: string) =>
    new Date(time).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" }),

  call: "Speak instead of typing",
  calling: "Connecting the call",
  hangUp: "End the call",
};

/** What the components say: words, and sentences around a name or a number. */
export type Labels = typeof english;

const Context = createContext<Labels>(english);

export interface LabelsProviderProps {
  /** What is said otherwise than in English; what is left out stays as it is. */
  labels: Partial<Labels>;
  children: ReactNode;
}

/** Changes what the components below say, such as into another language. */
export function LabelsProvider({ labels, children }: LabelsProviderProps) {
  const above = useContext(Context);
  const all = useMemo(() => ({ ...above, ...labels }), [above, labels]);
  return <Context.Provider value={all}>{children}</Context.Provider>;
}

/** What the components here say. */
export function useLabels(): Labels {
  return useContext(Context);
}

/** What went wrong, in words. Browsers say of a server that is away that a fetch failed. */
export function messageOf(cause: unknown, labels: Pick<Labels, "unreachable" | "refused">): string {
  if (cause instanceof TypeError && /fetch|network|load failed/i.test(cause.message)) {
    return labels.unreachable;
  }
  if (cause instanceof RequestError) return labels.refused(cause);
  return cause instanceof Error ? cause.message : String(cause);
}
