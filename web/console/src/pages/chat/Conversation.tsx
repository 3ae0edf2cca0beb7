import { RequestError, useChat, useModels } from "@castalia/oracles-client";
import { useApprovals } from "@castalia/oracles-client/approvals";
import { useAttachments } from "@castalia/oracles-client/attachments";
import { Approvals, CallButton, Composer, Thread, useFileDrop } from "@castalia/oracles-ui";
import { useEffect, useRef, useState } from "react";
import { fileToken, useSession } from "../../identity/session";
import { useFeatures } from "../../shell/features";
import { Icon } from "../../shell/icons";
import { Link } from "../../shell/Link";
import { go, href } from "../../shell/router";
import { say } from "../../words";
import { useShipped } from "./actions";
import { browserTools } from "./browserTools";
import { CreditsBadge, Payment, useCredits } from "./Credits";
import { FilePicker } from "./FilePicker";
import { here } from "./here";
import { drawable, uiComponents } from "./uiComponents";
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
  const drop = useFileDrop(attachments.upload);
  // Opens the device's own chooser, while the user's files are shown.
  const [fromDevice, setFromDevice] = useState<{ choose: () => void }>();
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

  // Nothing more is said in a conversation that is gone, or never was.
  const isGone =
    !isLoading &&
    chat.messages.length === 0 &&
    chat.error instanceof RequestError &&
    [404, 410].includes(chat.error.status);

  const callPage = `call/${encodeURIComponent(sessionId)}`;
  return (
    <section
      className={drop.isDragging ? "conversation dragging" : "conversation"}
      aria-label={say("chat.conversation")}
      {...drop.area}
    >
      <header className="conversation-head">
        <Link to="chat" className="button quiet narrow-only" label={say("conversation.all")}>
          <Icon name="back" />
        </Link>
        <h1 title={props.title} dir="auto">
          {props.title}
        </h1>
        {!isGone && <CallButton href={href(callPage)} onOpen={() => go(callPage)} />}
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
      <Thread chat={chat} components={uiComponents} empty={say("conversation.empty")}>
        <Approvals waiting={waiting} />
        {claims && <Payment claims={claims} credits={credits} />}
      </Thread>
      {isGone ? (
        <p className="below">
          <Link to="chat/new" className="button">
            {say("shell.newConversation")}
          </Link>
        </p>
      ) : (
        <div className="below">
          {/* One question at a time. */}
          {waiting.approvals.every((a) => a.reason === "delegation") && (
            <Permission
              wanted={attachments.list.length > 0 || forFiles !== undefined}
              onDecline={() => forFiles && void waiting.deny(forFiles.id).catch(() => undefined)}
            />
          )}
          <Composer
            chat={chat}
            attachments={attachments}
            onSend={send}
            onAttach={(choose) => setFromDevice({ choose })}
            isOpened={props.isOpened}
            entryId="message"
          />
          {fromDevice && (
            <FilePicker
              onClose={() => setFromDevice(undefined)}
              onUpload={fromDevice.choose}
              onPick={(file) => attachments.add(file)}
            />
          )}
          <p className="soft small status" role="status">
            <span className={isRealTimeConnected ? "dot good" : "dot busy"} />
            {isRealTimeConnected
              ? say("conversation.live")
              : wasLive
                ? say("conversation.lost")
                : say("conversation.connecting")}
          </p>
        </div>
      )}
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
      <span className="badge wide-only" title={say("conversation.modelHint")} dir="auto">
        {only.label}
      </span>
    ) : null;
  }
  return (
    <label className="model">
      <span className="visually-hidden">{say("conversation.model")}</span>
      <select value={props.value} onChange={(event) => props.onChange(event.target.value)}>
        {props.models.map((m) => (
          <option key={m.id} value={m.id} dir="auto">
            {m.costLabel ? `${m.label} · ${m.costLabel}` : m.label}
          </option>
        ))}
      </select>
    </label>
  );
}
