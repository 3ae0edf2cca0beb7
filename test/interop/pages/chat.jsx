// A chat as the AI SDK's documentation makes one: useChat with its default transport, told where and by which key. What it has said is kept
// by the page, so that one that is loaded again comes back to the answer that is under way.
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import { useLayoutEffect } from "react";
import { createRoot } from "react-dom/client";

const { url, key, id } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const kept = JSON.parse(sessionStorage.getItem(id) ?? "[]");

function Part({ part, respond }) {
  if (part.type === "text") return <span className="text">{part.text}</span>;
  if (part.state !== "approval-requested") return null;
  return (
    <span>
      {JSON.stringify(part.input)}
      <button onClick={() => respond({ id: part.approval.id, approved: true })}>Approve</button>
      <button onClick={() => respond({ id: part.approval.id, approved: false })}>Deny</button>
    </span>
  );
}

function Chat() {
  const { messages, sendMessage, status, error, addToolApprovalResponse } = useChat({
    id,
    messages: kept,
    resume: kept.at(-1)?.role === "user", // an answer is owed
    transport: new DefaultChatTransport({ api: `${url}/ai-sdk/chat`, headers: { authorization: `Bearer ${key}` } }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  useLayoutEffect(() => {
    // Of an answer that is not over it keeps nothing: it comes whole again.
    const whole = status === "ready" ? messages : messages.filter(({ role }) => role === "user");
    if (whole.length > 0) sessionStorage.setItem(id, JSON.stringify(whole));
  }, [messages, status]);
  const say = (event) => {
    event.preventDefault();
    sendMessage({ text: event.target.elements.said.value });
    event.target.reset();
  };
  return (
    <main data-status={status}>
      {messages.map((message) => (
        <p key={message.id} className={message.role}>
          {message.parts.map((part, at) => (
            <Part key={at} part={part} respond={addToolApprovalResponse} />
          ))}
        </p>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form onSubmit={say}>
        <input name="said" aria-label="Message" />
      </form>
    </main>
  );
}

createRoot(document.getElementById("root")).render(<Chat />);
