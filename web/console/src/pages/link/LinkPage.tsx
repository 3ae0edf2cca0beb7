import { useEffect, useState } from "react";
import { once, useAsked, useDoing } from "../../shell/asked";
import { Icon } from "../../shell/icons";
import { Skeleton } from "../../shell/Skeleton";
import { postSigned, useSession, type Session } from "../../identity/session";

interface TeamLink {
  team: string;
  user: string;
  name?: string;
}

async function follow(session: Session, code: string, confirm: boolean): Promise<TeamLink> {
  const reply = await postSigned(session, "/teamchat/link", { code, confirm });
  const body = (await reply.json().catch(() => ({}))) as TeamLink & { message?: string };
  if (reply.status === 404 && body.message?.startsWith("Cannot POST"))
    throw new Error("This server has no team chat to link.");
  if (!reply.ok) throw new Error(body.message ?? `The server answered ${reply.status}`);
  return body;
}

const noCode =
  "Nobody is named here. Write to the oracle in your team's chat: it sends you a link that opens this page.";

/** Follows a one-time link from the team's chat: who asks there becomes you. */
export default function LinkPage() {
  const session = useSession();
  const [code] = useState(() => location.hash.slice(1));
  useEffect(() => history.replaceState(null, "", location.pathname), []); // the code is nobody else's
  const { data: link, error: problem } = useAsked({
    queryKey: ["link", code],
    queryFn: () => follow(session, code, false),
    enabled: code !== "",
    ...once,
  });
  const linking = useDoing();
  const [isLinked, setLinked] = useState(false);
  const error = code ? linking.error || problem : noCode;
  const who = link ? (link.name ? `${link.name} (${link.user})` : link.user) : "";
  return (
    <div className="page">
      <h1>Link your team chat</h1>
      <p className="soft">One account there and this key here become the same person.</p>
      {error && (
        <section role="alert" className="card nothing">
          <Icon name="link" />
          <p>{error}</p>
          <p className="soft small">
            Links work once and not for long. Ask the oracle for a new one in your team&apos;s chat.
          </p>
        </section>
      )}
      {!link && !error && <Skeleton lines={3} label="Looking at the link" />}
      {link && !isLinked && !error && (
        <section className="card">
          <p>
            <strong>{who}</strong> of team {link.team} will speak to the oracle as you. Go on only
            if that is your own account there: whoever writes from it can read your conversations
            and use what you allowed the oracle.
          </p>
          <dl className="facts">
            <dt>You</dt>
            <dd className="mono">{session.key.did}</dd>
          </dl>
          <div className="row">
            <button
              type="button"
              className="primary"
              disabled={linking.isBusy}
              onClick={() =>
                linking.run(async () => {
                  await follow(session, code, true);
                  setLinked(true);
                })
              }
            >
              That is me, link it
            </button>
          </div>
        </section>
      )}
      {isLinked && (
        <p role="status" className="card">
          {who} is linked. The answer to your message is on its way in the chat.
        </p>
      )}
    </div>
  );
}
