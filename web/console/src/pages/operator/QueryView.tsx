import { ago, bytes, number } from "../../shell/format";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { say } from "../../words";
import { useLook } from "./api";
import { Figure } from "./parts";

interface Status {
  chains: {
    name: string;
    dialect: string;
    ready: boolean;
    height: number;
    routes: number;
    warnings: string[];
    nodes: {
      address: string;
      state: string;
      height: number;
      inFlight: number;
      calls: number;
      latencyMs: number;
      seen: string;
    }[];
  }[];
  cache: {
    hits: number;
    misses: number;
    coalesced: number;
    stale: number;
    evicted: number;
    entries: number;
    bytes: number;
    maxBytes: number;
  };
}

const tenths = { minimumFractionDigits: 1, maximumFractionDigits: 1 };

/** The chain's nodes as the gateway sees them, and what its cache saves. */
export function QueryView() {
  const { data, error } = useLook<Status>("/query/status");
  const cache = data?.cache;
  const asked = cache ? cache.hits + cache.misses + cache.coalesced : 0;
  return (
    <div className="stack" aria-busy={!data && !error}>
      <Problem error={error} />
      {!data && !error && <Skeleton lines={6} label={say("operator.askingNodes")} />}
      {cache && (
        <dl className="figures">
          <Figure
            label={say("operator.fromCache")}
            value={
              asked > 0
                ? say("operator.percent", {
                    n: Math.round((100 * (cache.hits + cache.coalesced)) / asked),
                  })
                : "–"
            }
          />
          <Figure label={say("operator.hits")} value={number(cache.hits)} />
          <Figure label={say("operator.misses")} value={number(cache.misses)} />
          <Figure label={say("operator.askedTogether")} value={number(cache.coalesced)} />
          <Figure label={say("operator.repliesHeld")} value={number(cache.entries)} />
          <Figure
            label={say("operator.takenOf", { size: bytes(cache.maxBytes) })}
            value={bytes(cache.bytes)}
          />
        </dl>
      )}
      {data?.chains.map((chain) => (
        <section
          key={chain.name}
          className="card table"
          aria-label={say("operator.chain", { name: chain.name })}
        >
          <div className="row spread table-head">
            <h2>
              <span className={chain.ready ? "dot good" : "dot bad"} />{" "}
              <span dir="auto">{chain.name}</span>
            </h2>
            <p className="soft small">
              {say("operator.chainFacts", {
                dialect: chain.dialect,
                height: chain.height,
                routes: chain.routes,
              })}
            </p>
          </div>
          {chain.warnings.map((w) => (
            <p key={w} className="notice" dir="auto">
              {w}
            </p>
          ))}
          <table>
            <thead>
              <tr>
                <th>{say("operator.node")}</th>
                <th>{say("operator.state")}</th>
                <th className="number">{say("operator.height")}</th>
                <th className="number wide-only">{say("operator.calls")}</th>
                <th className="number wide-only">{say("operator.latency")}</th>
                <th className="wide-only">{say("operator.seen")}</th>
              </tr>
            </thead>
            <tbody>
              {chain.nodes.map((n) => (
                <tr key={n.address}>
                  <td className="mono path-cell">
                    <span dir="auto">{n.address}</span>
                  </td>
                  <td className={n.state === "in step" ? "good" : "bad"}>
                    <span dir="auto">{n.state}</span>
                  </td>
                  <td className="number">{number(n.height)}</td>
                  <td className="number wide-only">
                    {n.inFlight > 0
                      ? say("operator.callsNow", { calls: n.calls, now: n.inFlight })
                      : number(n.calls)}
                  </td>
                  <td className="number wide-only">
                    {say("shell.milliseconds", { n: number(n.latencyMs, tenths) })}
                  </td>
                  <td className="wide-only soft">
                    <time dateTime={n.seen}>{ago(n.seen)}</time>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      ))}
    </div>
  );
}
