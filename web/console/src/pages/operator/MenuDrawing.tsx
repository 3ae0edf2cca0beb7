import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { number } from "../../shell/format";
import { Say, say } from "../../words";
import { box, layout, neighbour, type MenuGraph, type MenuNode, type PlacedEdge } from "./layout";

/** The direction of a name; the types of SVG have no such attribute. */
const itsOwn = { dir: "auto" };

/** A menu as a drawing, and what is on the chosen screen. */
export function MenuDrawing({
  graph,
  onEdit,
}: {
  graph: MenuGraph;
  /** Offers to edit the chosen screen. */
  onEdit?: (id: string) => void;
}) {
  const placed = useMemo(() => {
    const all = layout(graph);
    // Read aloud in the order in which it is drawn.
    return { ...all, nodes: all.nodes.sort((a, b) => a.layer - b.layer || a.y - b.y) };
  }, [graph]);
  const [selected, setSelected] = useState(graph.start);
  const [back, setBack] = useState(false);
  const drawing = useRef<HTMLDivElement>(null);
  const detail = useRef<HTMLHeadingElement>(null);
  const most = Math.max(1, ...placed.edges.map((e) => e.count));
  const node = graph.nodes.find((n) => n.id === selected);
  const touches = (e: PlacedEdge) => e.from === selected || e.to === selected;
  const shown = placed.edges.filter((e) => e.kind !== "back" || back || e.from === selected);
  // The chosen screen is in sight, also in a drawing larger than its window.
  const at = placed.nodes.find((n) => n.id === selected);
  useEffect(() => {
    const view = drawing.current;
    if (view && at) reveal(view, at.x, at.y);
  }, [at?.x, at?.y]); // eslint-disable-line react-hooks/exhaustive-deps -- a refresh does not scroll

  function walk(event: KeyboardEvent) {
    const next = neighbour(placed, selected, event.key);
    if (next === undefined) return;
    event.preventDefault();
    setSelected(next);
    drawing.current?.querySelector<SVGElement>(`[data-id="${CSS.escape(next)}"]`)?.focus();
  }
  function follow(id: string) {
    setSelected(id);
    detail.current?.focus();
  }
  return (
    <section className="card stack" aria-label={say("operator.menu")}>
      <div className="row spread graph-head">
        <h2>
          <span dir="auto">{graph.name}</span>{" "}
          {graph.version && (
            <span className="soft small">
              {say("operator.menuVersion", { version: graph.version })}
            </span>
          )}
        </h2>
        <label className="choice small">
          <input type="checkbox" checked={back} onChange={() => setBack(!back)} />{" "}
          {say("operator.waysBack")}
        </label>
      </div>
      <p className="soft small" id="graph-help">
        {say("operator.drawingHint")}
      </p>
      <div
        ref={drawing}
        className="graph-scroll"
        role="region"
        aria-label={say("operator.drawing")}
        aria-describedby="graph-help"
      >
        <svg
          width={placed.width}
          height={placed.height}
          className="graph"
          role="group"
          aria-label={say("operator.screens")}
          onKeyDown={walk}
        >
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
              data-id={n.id}
              tabIndex={n.id === selected ? 0 : -1}
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
              <text x={12} y={19} className="node-name" {...itsOwn}>
                {`${clipped(n.id)} `}
              </text>
              <text x={12} y={36} className="node-more">
                {`${kindOf(n)} `}
              </text>
              {n.count > 0 && (
                <text x={box.width - 12} y={36} textAnchor="end" className="node-count">
                  {number(n.count)}
                </text>
              )}
            </g>
          ))}
        </svg>
      </div>
      {node && (
        <div className="node-detail" aria-live="polite">
          <div>
            <h3 ref={detail} tabIndex={-1}>
              <span dir="auto">{node.id}</span> <span className="badge">{kindOf(node)}</span>
            </h3>
            {onEdit ? (
              <button type="button" onClick={() => onEdit(node.id)}>
                {say("operator.editScreen")}
              </button>
            ) : (
              <p className="soft small">
                {say("operator.stateShown", { state: node.state, count: node.count })}
              </p>
            )}
            <pre className="phone-screen" dir="auto">
              {node.text || say("operator.nothingShown")}
            </pre>
          </div>
          <Ways
            title={say("operator.leadsTo")}
            edges={graph.edges.filter((e) => e.from === node.id)}
            end="to"
            onFollow={follow}
          />
          <Ways
            title={say("operator.reachedFrom")}
            edges={graph.edges.filter((e) => e.to === node.id)}
            end="from"
            onFollow={follow}
          />
        </div>
      )}
    </section>
  );
}

function clipped(id: string): string {
  return id.length > 24 ? `${id.slice(0, 23)}…` : id;
}

function kindOf({ kind }: MenuNode): string {
  return say("operator.screenKind", { kind });
}

/** Begins with what is seen, so that who speaks to the page can name it. */
function spoken(n: MenuNode): string {
  const seen = { name: clipped(n.id), kind: kindOf(n) };
  return n.count > 0
    ? say("operator.screenShown", { ...seen, count: n.count })
    : say("operator.screenNeverShown", seen);
}

/** Scrolls a window until a box in it is in sight, with some room to its left. */
function reveal(view: HTMLElement, x: number, y: number): void {
  const { scrollLeft, scrollTop, clientWidth, clientHeight } = view;
  if (x < scrollLeft || x + box.width > scrollLeft + clientWidth) {
    view.scrollLeft = x - Math.max(box.pad, (clientWidth - box.width) / 2);
  }
  if (y < scrollTop || y + box.height > scrollTop + clientHeight) {
    view.scrollTop = y - (clientHeight - box.height) / 2;
  }
}

function Ways(props: {
  title: string;
  edges: MenuGraph["edges"];
  end: "from" | "to";
  onFollow: (id: string) => void;
}) {
  return (
    <div>
      <h3 className="section-label">{props.title}</h3>
      <ul className="plain small ways">
        {props.edges.length === 0 && <li className="soft">{say("operator.nowhere")}</li>}
        {props.edges.map((e, i) => (
          <li key={i}>
            <button type="button" className="quiet" onClick={() => props.onFollow(e[props.end])}>
              <span className="grow">
                <strong dir="auto">{e[props.end]}</strong>{" "}
                <span className="soft" dir="auto">
                  {e.label}
                </span>
              </span>
              {e.count > 0 && (
                <span>
                  <Say
                    id="operator.times"
                    values={{ count: e.count }}
                    tags={{ hidden: (text) => <span className="visually-hidden">{text}</span> }}
                  />
                </span>
              )}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
