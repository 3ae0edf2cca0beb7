import { TurnError, useChat, useModels } from "@castalia/oracles-client";
import { useApprovals } from "@castalia/oracles-client/approvals";
import { useAttachments } from "@castalia/oracles-client/attachments";
import { useEffect, useMemo, useRef, useState, type DragEvent } from "react";
import { fileToken, useSession } from "../../identity/session";
import { useFeatures } from "../../shell/features";
import { messageOf } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { Link } from "../../shell/Link";
import { Skeleton } from "../../shell/Skeleton";
import { CallLink } from "../call/CallLink";
import { useShipped } from "./actions";
import { Announcer } from "./Announcer";
import { Approvals } from "./Approvals";
import { browserTools } from "./browserTools";
import { Dots } from "./Dots";
import { Composer } from "./Composer";
import { CreditsBadge, Payment, useCredits } from "./Credits";
import { here } from "./here";
import { MessageLog } from "./MessageLog";
import type { MessageActs } from "./MessageTools";
import { drawable, MessageView, uiComponents } from "./MessageView";
import { Permission } from "./Permission";

const modelKey = "castalia-model";

/** One conversation: what was said, what is being said, and where to answer. */
export default function Conversation(props: {
  sessionId: string;
  title: string;
  opening: string;
  /** The reader came here from elsewhere on the page: to write, most likely. */
  isOpened: boolean;
  onOpened: () => void;
  onTurn: () => void;
}) {
  const { sessionId, opening } = props;
  const session = useSession();
  const { serviceDid } = session;
  useShipped();
  const { plugins } = useFeatures();
  const [claims, setClaims] = useState<string[]>();
  const isUnpaid = useRef(false);
  const [chosen, setChosen] = useState(() => localStorage.getItem(modelKey) ?? "");
  const { models, defaultModel } = useModels(serviceDid, { baseUrl: here.baseUrl });
  const model = models.some((m) => m.id === chosen) ? chosen : (defaultModel ?? "");
  const credits = useCredits(plugins.includes("credits"));
  const attachments = useAttachments({
    oracleDid: serviceDid,
    overrides: here,
    fileToken: () => fileToken(session),
  });
  const [dragging, setDragging] = useState(false);
  const chat = useChat({
    oracleDid: serviceDid,
    sessionId,
    overrides: here,
    browserTools,
    uiComponents,
    ...(model && model !== defaultModel ? { model } : {}),
    onPaymentRequiredError: (wanted) => {
      isUnpaid.current = true;
      setClaims(wanted);
    },
    onEvent: (event) => {
      if (event.eventName === "message_cache_invalidation") props.onTurn();
    },
  });
  const [sent, setSent] = useState(0);
  const [problem, setProblem] = useState("");
  const { regenerate, editMessage, chooseVersion, sendFeedback } = chat;
  // The same for every message until another conversation is open: none is drawn anew.
  const acts = useMemo<MessageActs>(() => {
    const told = (doing: Promise<void>) => {
      setProblem("");
      return doing.catch((cause: unknown) => setProblem(messageOf(cause)));
    };
    // The button goes with the answer; what is next is written below.
    const anew = (doing: Promise<void>) => {
      setProblem("");
      setSent((n) => n + 1);
      document.getElementById("message")?.focus({ preventScroll: true });
      // What is wrong with it is an error of the conversation.
      doing.catch(() => undefined);
    };
    return {
      regenerate: (id) => anew(regenerate(id)),
      edit: (id, text) => anew(editMessage(id, text)),
      choose: (id) => told(chooseVersion(id)),
      rate: (id, rating) => void told(sendFeedback(id, rating)),
    };
  }, [regenerate, editMessage, chooseVersion, sendFeedback]);
  const waiting = useApprovals({ oracleDid: serviceDid, sessionId, overrides: here });
  const forFiles = waiting.approvals.find(
    (a) => a.reason === "delegation" && a.state === "waiting",
  );
  const { isSending, isConfigReady, isLoading, isRealTimeConnected } = chat;
  const [wasLive, setWasLive] = useState(false);
  if (isRealTimeConnected && !wasLive) setWasLive(true);

  const wasSending = useRef(false);
  const reload = credits.reload;
  useEffect(() => {
    if (wasSending.current && !isSending) reload();
    wasSending.current = isSending;
  }, [isSending, reload]);

  async function send(text: string): Promise<boolean> {
    setClaims(undefined);
    isUnpaid.current = false;
    const files = await attachments.take();
    setSent((n) => n + 1);
    return chat.sendMessage(text, drawable, files.length ? files : undefined).then(
      () => {
        if (isUnpaid.current) attachments.giveBack(files);
        return !isUnpaid.current;
      },
      () => {
        attachments.giveBack(files);
        return false;
      },
    );
  }
  const sendNow = useRef(send);
  useEffect(() => {
    sendNow.current = send;
  });
  const { onOpened } = props;
  const opened = useRef(false);
  // Tools of this page are there when the live channel is; it is waited for, but not long.
  const [waited, setWaited] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setWaited(true), 8000);
    return () => clearTimeout(timer);
  }, []);
  const isReachable = isRealTimeConnected || waited;
  useEffect(() => {
    if (!opening || opened.current || !isConfigReady || isLoading || !isReachable) return;
    opened.current = true;
    onOpened();
    void sendNow.current(opening);
  }, [opening, onOpened, isConfigReady, isLoading, isReachable]);

  function drop(event: DragEvent) {
    event.preventDefault();
    setDragging(false);
    attachments.upload(event.dataTransfer.files);
  }
  // Wherever the focus is: who wants it to stop does not look for it first.
  const { abortStream } = chat;
  useEffect(() => {
    if (!isSending) return;
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.isComposing) return;
      if (!document.querySelector("dialog[open]")) void abortStream();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [isSending, abortStream]);

  // What is wrong with a turn stands in the conversation.
  const error = chat.sendMessageError ?? (chat.error instanceof TurnError ? undefined : chat.error);
  return (
    <section
      className={dragging ? "conversation dragging" : "conversation"}
      aria-label="Conversation"
      onDragOver={(event) => {
        event.preventDefault();
        setDragging(true);
      }}
      onDragLeave={() => setDragging(false)}
      onDrop={drop}
    >
      <header className="conversation-head">
        <Link to="chat" className="button quiet narrow-only" label="All conversations">
          <Icon name="back" />
        </Link>
        <h1 title={props.title}>{props.title}</h1>
        <CallLink sessionId={sessionId} />
        <CreditsBadge credits={credits} />
        <ModelChoice
          models={models}
          value={model}
          onChange={(id) => {
            localStorage.setItem(modelKey, id);
            setChosen(id);
          }}
        />
      </header>
      <MessageLog messages={chat.messages} busy={isSending} sent={sent}>
        {chat.hasEarlier && (
          <p className="centre">
            <button
              type="button"
              disabled={chat.isLoadingEarlier}
              onClick={() => void chat.loadEarlier()}
            >
              Earlier messages
            </button>
          </p>
        )}
        {isLoading && <Skeleton lines={5} label="Reading the conversation" />}
        {!isLoading && chat.messages.length === 0 && !isSending && (
          <p className="soft centre nothing-said">
            Ask anything. Say “help” to see what this oracle can do here.
          </p>
        )}
        {chat.messages.map((message) => (
          <MessageView key={message.id} message={message} acts={acts} />
        ))}
        {chat.status === "submitted" && (
          <p className="soft waiting" role="status">
            <Dots />
            <span className="visually-hidden">Sending</span>
          </p>
        )}
        <Approvals waiting={waiting} />
        {claims && <Payment claims={claims} credits={credits} />}
        {(error || problem) && (
          <p role="alert" className="notice bad">
            {error ? messageOf(error) : problem}
          </p>
        )}
        {chat.status === "error" && (
          <button className="secondary" onClick={() => void chat.retry().catch(() => undefined)}>
            Try again
          </button>
        )}
      </MessageLog>
      <Announcer messages={chat.messages} busy={isSending} isLoading={isLoading} />
      <div className="below">
        {/* One question at a time. */}
        {waiting.approvals.every((a) => a.reason === "delegation") && (
          <Permission
            wanted={attachments.list.length > 0 || forFiles !== undefined}
            early={chat.messages.length === 0}
            onDecline={() => forFiles && void waiting.deny(forFiles.id).catch(() => undefined)}
          />
        )}
        <Composer
          busy={isSending}
          attachments={attachments}
          onSend={send}
          onStop={() => void abortStream()}
          isOpened={props.isOpened}
        />
        <p className="soft small status" role="status">
          <span className={isRealTimeConnected ? "dot good" : "dot busy"} />
          {isRealTimeConnected
            ? "Live"
            : wasLive
              ? "The connection is lost. Trying again…"
              : "Connecting…"}
        </p>
      </div>
    </section>
  );
}

function ModelChoice(props: {
  models: { id: string; label: string; costLabel?: string }[];
  value: string;
  onChange: (id: string) => void;
}) {
  if (props.models.length < 2) {
    const only = props.models[0];
    return only ? (
      <span className="badge wide-only" title="The model that answers">
        {only.label}
      </span>
    ) : null;
  }
  return (
    <label className="model">
      <span className="visually-hidden">Model</span>
      <select value={props.value} onChange={(event) => props.onChange(event.target.value)}>
        {props.models.map((m) => (
          <option key={m.id} value={m.id}>
            {m.costLabel ? `${m.label} · ${m.costLabel}` : m.label}
          </option>
        ))}
      </select>
    </label>
  );
}
