import { ago, bytes, plural } from "../../shell/format";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
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

/** The chain's nodes as the gateway sees them, and what its cache saves. */
export function QueryView() {
  const { data, error } = useLook<Status>("/query/status");
  const cache = data?.cache;
  const asked = cache ? cache.hits + cache.misses + cache.coalesced : 0;
  return (
    <div className="stack" aria-busy={!data && !error}>
      <Problem error={error} />
      {!data && !error && <Skeleton lines={6} label="Asking about the nodes" />}
      {cache && (
        <dl className="figures">
          <Figure
            label="From the cache"
            value={
              asked > 0 ? `${Math.round((100 * (cache.hits + cache.coalesced)) / asked)} %` : "–"
            }
          />
          <Figure label="Hits" value={cache.hits.toLocaleString("en")} />
          <Figure label="Misses" value={cache.misses.toLocaleString("en")} />
          <Figure label="Asked together" value={cache.coalesced.toLocaleString("en")} />
          <Figure label="Replies held" value={cache.entries.toLocaleString("en")} />
          <Figure label={`Taken of ${bytes(cache.maxBytes)}`} value={bytes(cache.bytes)} />
        </dl>
      )}
      {data?.chains.map((chain) => (
        <section key={chain.name} className="card table" aria-label={`Chain ${chain.name}`}>
          <div className="row spread table-head">
            <h2>
              <span className={chain.ready ? "dot good" : "dot bad"} /> {chain.name}
            </h2>
            <p className="soft small">
              {chain.dialect}, height {chain.height.toLocaleString("en")},{" "}
              {plural(chain.routes, "route")}
            </p>
          </div>
          {chain.warnings.map((w) => (
            <p key={w} className="notice">
              {w}
            </p>
          ))}
          <table>
            <thead>
              <tr>
                <th>Node</th>
                <th>State</th>
                <th className="number">Height</th>
                <th className="number wide-only">Calls</th>
                <th className="number wide-only">Latency</th>
                <th className="wide-only">Seen</th>
              </tr>
            </thead>
            <tbody>
              {chain.nodes.map((n) => (
                <tr key={n.address}>
                  <td className="mono path-cell">{n.address}</td>
                  <td className={n.state === "in step" ? "good" : "bad"}>{n.state}</td>
                  <td className="number">{n.height.toLocaleString("en")}</td>
                  <td className="number wide-only">
                    {n.calls.toLocaleString("en")}
                    {n.inFlight > 0 && ` (${n.inFlight} now)`}
                  </td>
                  <td className="number wide-only">{n.latencyMs.toFixed(1)} ms</td>
                  <td className="wide-only soft">{ago(n.seen)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      ))}
    </div>
  );
}
