import { ago, plural, short } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { Link } from "../../shell/Link";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
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
      <section className="card table" aria-busy={!data && !error} aria-label="Live sessions">
        <Problem error={error} />
        {!data && !error && <Skeleton lines={5} label="Reading the sessions" />}
        {data?.sessions.length === 0 && (
          <div className="nothing">
            <Icon name="telephone" />
            <p>Nobody is on the line.</p>
            <p className="soft small">
              Dial on the <Link to="telephone">Phone</Link> page to see a session here.
            </p>
          </div>
        )}
        {data && data.sessions.length > 0 && (
          <>
            <p className="soft small table-head" role="status">
              {plural(data.total, "session")}, those used last first
            </p>
            <table>
              <thead>
                <tr>
                  <th>Caller</th>
                  <th>Screen</th>
                  <th className="number wide-only">Steps</th>
                  <th className="wide-only">Used</th>
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
                        {s.phoneNumber}
                      </Link>
                      <span className="soft small block">{short(s.sessionId, 14)}</span>
                    </td>
                    <td>
                      <span className={s.status === "active" ? "dot good" : "dot soft"} />{" "}
                      <span className="visually-hidden">{s.status}, </span>
                      {s.screen}
                      {s.isAuthenticated && (
                        <span className="logged-in">
                          <Icon name="lock" />
                          <span className="visually-hidden">, logged in</span>
                        </span>
                      )}
                    </td>
                    <td className="number wide-only">{s.hops}</td>
                    <td className="wide-only soft">{ago(s.updatedAt)}</td>
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

function Steps({ id }: { id: string }) {
  const { data, error } = useLook<Timeline>(
    `/operator/ussd/timeline/${encodeURIComponent(id)}`,
    3000,
  );
  return (
    <section className="card stack" aria-busy={!data && !error} aria-label="One session">
      <div className="row spread">
        <h2>{data?.phoneNumber ?? "Session"}</h2>
        <Link to="operator/sessions" className="button quiet" label="Close the session">
          <Icon name="close" />
        </Link>
      </div>
      <Problem error={error} />
      {!data && !error && <Skeleton lines={5} label="Reading the session" />}
      {data && (
        <>
          <dl className="facts">
            <dt>Session</dt>
            <dd className="mono">{data.sessionId}</dd>
            <dt>Dialled</dt>
            <dd className="mono">{data.serviceCode}</dd>
            <dt>State</dt>
            <dd>
              {data.state}, {data.status}
              {data.isAuthenticated ? ", logged in" : ""}
            </dd>
          </dl>
          <ol className="timeline">
            {data.timeline.map((step, i) => (
              <li key={i}>
                <span className="mono step-input">{step.input === "" ? "dial" : step.input}</span>
                <span>
                  <strong>{step.screen}</strong>
                  <span className="soft small block">
                    {new Date(step.at).toLocaleTimeString()} · {step.state}
                  </span>
                </span>
              </li>
            ))}
          </ol>
          <h3 className="section-label" id="caller-sees">
            What the caller sees
          </h3>
          <pre className="phone-screen" role="group" aria-labelledby="caller-sees">
            {data.message}
          </pre>
        </>
      )}
    </section>
  );
}
