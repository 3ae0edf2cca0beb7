import { StrictMode, useState, type FormEvent } from "react";
import { createRoot } from "react-dom/client";
import {
  OraclesProvider,
  renderMessageContent,
  useAgAction,
  useChat,
  useOracleSessions,
  type BrowserTools,
} from "@castalia/oracles-client";
import { z } from "zod";
import { host, mint } from "./host";

/** Things that only this page can tell. The oracle may ask for them. */
const browserTools: BrowserTools = {
  page_title: {
    toolName: "page_title",
    description: "Tells the title of the page that the user looks at.",
    schema: z.object({}),
    fn: async () => ({ title: document.title }),
  },
};

function Chat({ sessionId }: { sessionId: string }) {
  const [claims, setClaims] = useState<string[]>();
  const [draft, setDraft] = useState("");
  // Options may be new in every render; nothing is opened twice for it.
  const chat = useChat({
    oracleDid: host.oracleDid,
    sessionId,
    browserTools: { ...browserTools },
    overrides: { baseUrl: host.server },
    onPaymentRequiredError: (ids) => setClaims(ids),
  });

  // An action: the oracle calls it, the page does it and draws it.
  useAgAction({
    name: "show_colour",
    description: "Shows the user a colour.",
    parameters: z.object({ colour: z.string() }),
    handler: async ({ colour }) => {
      document.body.style.accentColor = colour;
      return { shown: colour };
    },
    render: ({ status, args }) => (
      <span className="swatch" style={{ background: args?.colour }}>
        {status === "done" ? `This is ${args?.colour}` : "Mixing…"}
      </span>
    ),
  });

  const send = (event: FormEvent) => {
    event.preventDefault();
    setDraft("");
    setClaims(undefined);
    chat.sendMessage(draft).catch(() => undefined); // chat.sendMessageError tells
  };

  return (
    <>
      <p role="status">
        {chat.status}
        {chat.isRealTimeConnected ? ", live" : ""}
      </p>
      {chat.messages.map((message) => (
        <article key={message.id} className={message.type}>
          {renderMessageContent(message.content, {
            ToolCall: ({ toolName, status }: { toolName?: string; status?: string }) => (
              <i>
                {toolName}: {status}
              </i>
            ),
          })}
        </article>
      ))}
      {claims && (
        <p role="alert">To be paid first: {claims.join(", ") || "nothing that is named"}</p>
      )}
      {chat.sendMessageError && <p role="alert">{chat.sendMessageError.message}</p>}
      <form onSubmit={send}>
        <input
          aria-label="Your message"
          value={draft}
          onChange={(event) => setDraft(event.target.value)}
        />
        <button disabled={draft === ""}>Send</button>
        <button type="button" hidden={!chat.isSending} onClick={() => void chat.abortStream()}>
          Stop
        </button>
      </form>
    </>
  );
}

function Sessions() {
  const { sessions, createSession, isLoading } = useOracleSessions(host.oracleDid, {
    baseUrl: host.server,
  });
  const [chosen, choose] = useState(() => location.hash.slice(1));
  const open = (sessionId: string) => {
    location.hash = sessionId;
    choose(sessionId);
  };
  if (chosen) return <Chat sessionId={chosen} />;
  return (
    <>
      <button
        disabled={isLoading}
        onClick={() => void createSession().then((session) => open(session.sessionId))}
      >
        New conversation
      </button>
      <ul>
        {sessions.map((session) => (
          <li key={session.sessionId}>
            <button onClick={() => open(session.sessionId)}>
              {session.title || session.createdAt}
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <OraclesProvider
      initialWallet={{
        address: "example",
        did: host.userDid,
        matrix: { accessToken: "", homeServer: "" },
      }}
      transactSignX={async () => {
        throw new Error("This page has no wallet to pay with");
      }}
      createDelegation={() => mint("delegation")}
      createInvocation={() => mint("invocation")}
    >
      <Sessions />
    </OraclesProvider>
  </StrictMode>,
);
