import { useEffect, useState } from "react";
import { once, useAsked, useDoing } from "../../shell/asked";
import { Icon } from "../../shell/icons";
import { refusalOf } from "../../shell/refusal";
import { Skeleton } from "../../shell/Skeleton";
import { postSigned, useSession, type Session } from "../../identity/session";
import { Say, say } from "../../words";

interface TeamLink {
  team: string;
  user: string;
  name?: string;
}

async function follow(session: Session, code: string, confirm: boolean): Promise<TeamLink> {
  const reply = await postSigned(session, "/teamchat/link", { code, confirm });
  const body = (await reply.json().catch(() => ({}))) as TeamLink & { message?: string };
  if (reply.status === 404 && body.message?.startsWith("Cannot POST"))
    throw new Error(say("link.noTeamChat"));
  if (!reply.ok) throw refusalOf(reply, body);
  return body;
}

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
  const error = code ? linking.error || problem : say("link.noCode");
  const who = link
    ? link.name
      ? say("link.who", { name: link.name, user: link.user })
      : link.user
    : "";
  return (
    <div className="page">
      <h1>{say("link.title")}</h1>
      <p className="soft">{say("link.what")}</p>
      {error && (
        <section role="alert" className="card nothing">
          <Icon name="link" />
          <p>{error}</p>
          <p className="soft small">{say("link.once")}</p>
        </section>
      )}
      {!link && !error && <Skeleton lines={3} label={say("link.looking")} />}
      {link && !isLinked && !error && (
        <section className="card">
          <p>
            <Say
              id="link.willSpeak"
              values={{ who, team: link.team }}
              tags={{ b: (text) => <strong>{text}</strong> }}
            />
          </p>
          <dl className="facts">
            <dt>{say("link.you")}</dt>
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
              {say("link.confirm")}
            </button>
          </div>
        </section>
      )}
      {isLinked && (
        <p role="status" className="card">
          {say("link.done", { who })}
        </p>
      )}
    </div>
  );
}
