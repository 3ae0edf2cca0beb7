import type { ReactNode } from "react";
import { ago, moment, number, short } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { Link } from "../../shell/Link";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { Say, say } from "../../words";
import { useLook } from "./api";

interface Live {
  sessionId: string;
  phoneNumber: string;
  serviceCode: string;
  state: string;
  screen: string;
  status: string;
  message: string;
  isAuthenticated: boolean;
  language: string;
  hops: number;
  createdAt: string;
  updatedAt: string;
}

interface Timeline extends Live {
  timeline: { at: string; input: string; screen: string; state: string }[];
}

/** Telephone sessions, and one of them step by step; numbers and PINs are masked. */
export function SessionsView({ selected }: { selected: string }) {
  const { data, error } = useLook<{ sessions: Live[]; total: number }>("/operator/ussd/live", 3000);
  return (
    <div className={selected ? "split with-detail" : "split"}>
      <section
        className="card table"
        aria-busy={!data && !error}
        aria-label={say("operator.liveSessions")}
      >
        <Problem error={error} />
        {!data && !error && <Skeleton lines={5} label={say("operator.readingSessions")} />}
        {data?.sessions.length === 0 && (
          <div className="nothing">
            <Icon name="telephone" />
            <p>{say("operator.nobodyOnLine")}</p>
            <p className="soft small">
              <Say
                id="operator.dialHint"
                values={{ page: say("shell.phone") }}
                tags={{ link: (text) => <Link to="telephone">{text}</Link> }}
              />
            </p>
          </div>
        )}
        {data && data.sessions.length > 0 && (
          <>
            <p className="soft small table-head" role="status">
              {say("operator.sessionCount", { count: data.total })}
            </p>
            <table>
              <thead>
                <tr>
                  <th>{say("operator.caller")}</th>
                  <th>{say("operator.screen")}</th>
                  <th className="number wide-only">{say("operator.steps")}</th>
                  <th className="wide-only">{say("operator.used")}</th>
                </tr>
              </thead>
              <tbody>
                {data.sessions.map((s) => (
                  <tr key={s.sessionId} className={s.sessionId === selected ? "chosen" : ""}>
                    <td>
                      <Link
                        to={`operator/sessions/${encodeURIComponent(s.sessionId)}`}
                        current={s.sessionId === selected}
                      >
                        <span dir="auto">{s.phoneNumber}</span>
                      </Link>
                      <span className="soft small block" dir="auto">
                        {short(s.sessionId, 14)}
                      </span>
                    </td>
                    <td>
                      <span className={s.status === "active" ? "dot good" : "dot soft"} />{" "}
                      <Where session={s} />
                    </td>
                    <td className="number wide-only">{number(s.hops)}</td>
                    <td className="wide-only soft">
                      <time dateTime={s.updatedAt}>{ago(s.updatedAt)}</time>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </>
        )}
      </section>
      {selected && <Steps key={selected} id={selected} />}
    </div>
  );
}

const hidden = (text: ReactNode) => <span className="visually-hidden">{text}</span>;

function Where({ session: { status, screen, isAuthenticated } }: { session: Live }) {
  const values = {
    status: <span dir="auto">{status}</span>,
    screen: <span dir="auto">{screen}</span>,
  };
  const lock = (text: ReactNode) => (
    <span className="logged-in">
      <Icon name="lock" />
      {hidden(text)}
    </span>
  );
  return isAuthenticated ? (
    <Say id="operator.sessionLoggedIn" values={values} tags={{ hidden, lock }} />
  ) : (
    <Say id="operator.sessionAt" values={values} tags={{ hidden }} />
  );
}

function Steps({ id }: { id: string }) {
  const { data, error } = useLook<Timeline>(
    `/operator/ussd/timeline/${encodeURIComponent(id)}`,
    3000,
  );
  return (
    <section
      className="card stack"
      aria-busy={!data && !error}
      aria-label={say("operator.oneSession")}
    >
      <div className="row spread">
        <h2 dir="auto">{data?.phoneNumber ?? say("operator.session")}</h2>
        <Link to="operator/sessions" className="button quiet" label={say("operator.closeSession")}>
          <Icon name="close" />
        </Link>
      </div>
      <Problem error={error} />
      {!data && !error && <Skeleton lines={5} label={say("operator.readingSession")} />}
      {data && (
        <>
          <dl className="facts">
            <dt>{say("operator.session")}</dt>
            <dd className="mono" dir="auto">
              {data.sessionId}
            </dd>
            <dt>{say("operator.dialled")}</dt>
            <dd className="mono" dir="auto">
              {data.serviceCode}
            </dd>
            <dt>{say("operator.state")}</dt>
            <dd>
              {say(data.isAuthenticated ? "operator.stateLoggedIn" : "operator.stateIs", {
                state: data.state,
                status: data.status,
              })}
            </dd>
          </dl>
          <ol className="timeline">
            {data.timeline.map((step, i) => (
              <li key={i}>
                <span className="mono step-input" dir="auto">
                  {step.input === "" ? say("operator.dial") : step.input}
                </span>
                <span>
                  <strong dir="auto">{step.screen}</strong>
                  <span className="soft small block">
                    <time dateTime={step.at}>{moment(step.at, { timeStyle: "medium" })}</time>
                    {" · "}
                    <span dir="auto">{step.state}</span>
                  </span>
                </span>
              </li>
            ))}
          </ol>
          <h3 className="section-label" id="caller-sees">
            {say("operator.callerSees")}
          </h3>
          <pre className="phone-screen" dir="auto" role="group" aria-labelledby="caller-sees">
            {data.message}
          </pre>
        </>
      )}
    </section>
  );
}
