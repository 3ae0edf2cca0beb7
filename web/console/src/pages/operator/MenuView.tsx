import { useMemo, useState } from "react";
import { plural } from "../../shell/format";
import { useLook } from "./api";
import { Funnel, type Step } from "./Funnel";
import { box, layout, type MenuGraph, type MenuNode, type PlacedEdge } from "./layout";
import { Problem } from "./parts";

/** The menu as a drawing with counts, and where callers leave it. */
export function MenuView() {
  const graph = useLook<MenuGraph>("/api/ussd/graph", 15_000);
  const funnel = useLook<{ days: number; steps: Step[] }>("/api/ussd/funnel", 15_000);
  return (
    <div className="stack">
      <Problem error={graph.error || funnel.error} />
      {funnel.data && <Funnel days={funnel.data.days} steps={funnel.data.steps} />}
      {graph.data && <Drawing graph={graph.data} />}
    </div>
  );
}

function Drawing({ graph }: { graph: MenuGraph }) {
  const placed = useMemo(() => layout(graph), [graph]);
  const [selected, setSelected] = useState(graph.start);
  const [back, setBack] = useState(false);
  const most = Math.max(1, ...placed.edges.map((e) => e.count));
  const node = graph.nodes.find((n) => n.id === selected);
  const touches = (e: PlacedEdge) => e.from === selected || e.to === selected;
  const shown = placed.edges.filter((e) => e.kind !== "back" || back || e.from === selected);
  return (
    <section className="card stack" aria-label="Menu">
      <div className="row spread">
        <h2>
          {graph.name} <span className="soft small">version {graph.version}</span>
        </h2>
        <label className="choice small">
          <input type="checkbox" checked={back} onChange={() => setBack(!back)} /> Ways back
        </label>
      </div>
      <div className="graph-scroll" role="region" aria-label="Drawing of the menu" tabIndex={0}>
        <svg width={placed.width} height={placed.height} className="graph">
          <g aria-hidden="true">
            {shown.map((e) => (
              <path
                key={`${e.from} ${e.to}`}
                className={`edge ${e.kind}${touches(e) ? " near" : ""}`}
                d={e.path}
                strokeWidth={e.count > 0 ? 1.5 + (4 * e.count) / most : 1}
              />
            ))}
          </g>
          {placed.nodes.map((n) => (
            <g
              key={n.id}
              className={`node ${n.kind}${n.id === selected ? " selected" : ""}`}
              transform={`translate(${n.x} ${n.y})`}
              role="button"
              tabIndex={0}
              aria-pressed={n.id === selected}
              aria-label={spoken(n)}
              onClick={() => setSelected(n.id)}
              onKeyDown={(event) => {
                if (event.key !== "Enter" && event.key !== " ") return;
                event.preventDefault();
                setSelected(n.id);
              }}
            >
              <rect width={box.width} height={box.height} rx={10} />
              <text x={12} y={19} className="node-name">
                {`${clipped(n.id)} `}
              </text>
              <text x={12} y={36} className="node-more">
                {`${n.kind} `}
              </text>
              {n.count > 0 && (
                <text x={box.width - 12} y={36} textAnchor="end" className="node-count">
                  {n.count.toLocaleString("en")}
                </text>
              )}
            </g>
          ))}
        </svg>
      </div>
      {node && (
        <div className="node-detail" aria-live="polite">
          <div>
            <h3>
              {node.id} <span className="badge">{node.kind}</span>
            </h3>
            <p className="soft small">
              State {node.state}, shown {plural(node.count, "time")}
            </p>
            <pre className="phone-screen">{node.text || "(nothing is shown)"}</pre>
          </div>
          <Ways title="Leads to" edges={graph.edges.filter((e) => e.from === node.id)} end="to" />
          <Ways
            title="Reached from"
            edges={graph.edges.filter((e) => e.to === node.id)}
            end="from"
          />
        </div>
      )}
    </section>
  );
}

function clipped(id: string): string {
  return id.length > 24 ? `${id.slice(0, 23)}…` : id;
}

/** Begins with what is seen, so that who speaks to the page can name it. */
function spoken(n: MenuNode): string {
  const seen = `${clipped(n.id)} ${n.kind}`;
  return n.count > 0
    ? `${seen} ${n.count.toLocaleString("en")} times shown`
    : `${seen}, never shown`;
}

function Ways(props: { title: string; edges: MenuGraph["edges"]; end: "from" | "to" }) {
  return (
    <div>
      <h3 className="section-label">{props.title}</h3>
      <ul className="plain small">
        {props.edges.length === 0 && <li className="soft">nowhere</li>}
        {props.edges.map((e, i) => (
          <li key={i} className="row spread">
            <span>
              <strong>{e[props.end]}</strong> <span className="soft">{e.label}</span>
            </span>
            <span>{e.count > 0 && e.count.toLocaleString("en")}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
