import { createOracles, type MessagePart } from "@castalia/oracles-client/core";
import { createBrowserWallet } from "@castalia/oracles-client/wallet";

const server = new URLSearchParams(location.search).get("server") ?? "http://127.0.0.1:3000";
const wallet = await createBrowserWallet({ server });
const oracles = createOracles(wallet.provider);
const at = { oracleDid: wallet.oracleDid, overrides: { baseUrl: server } };
sessionStorage["session"] ??= (await oracles.createSession(at)).sessionId;
const chat = oracles.openChat({ ...at, sessionId: sessionStorage["session"] });

const find = <T extends Element>(selector: string) => document.querySelector(selector) as T;
const textOf = (part: MessagePart) =>
  part.type === "tool" ? `[${part.call.name}]` : "text" in part ? part.text : "";

chat.subscribe(({ messages, status, error, sendMessageError, canRetry }) => {
  // Why the last turn failed is said below, and not twice.
  const isFailed = status === "error" && !sendMessageError;
  const isTold = isFailed && messages.at(-1)?.parts?.[0]?.type === "error";
  const drawn = messages.slice(0, isTold ? -1 : undefined).map(({ type, parts = [] }) => {
    const article = document.createElement("article");
    article.className = type;
    article.textContent = parts.map(textOf).join(" ");
    return article;
  });
  find("main").replaceChildren(...drawn);
  find<HTMLElement>("[role=alert]").hidden = status !== "error";
  find("[role=alert] span").textContent = (sendMessageError ?? error)?.message ?? "";
  find<HTMLElement>("[role=alert] button").hidden = !canRetry;
});

const quietly = () => undefined; // What fails is in `status` and `error`.
find<HTMLButtonElement>("[role=alert] button").onclick = () => chat.retry().catch(quietly);
find<HTMLFormElement>("form").onsubmit = (event) => {
  event.preventDefault();
  const form = event.target as HTMLFormElement;
  chat.sendMessage(String(new FormData(form).get("draft"))).catch(quietly);
  form.reset();
};
find<HTMLFieldSetElement>("fieldset").disabled = false; // Before, the browser would send the form itself.
