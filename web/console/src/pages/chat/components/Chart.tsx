import { useLayoutEffect, useMemo, useRef, useState } from "react";
import { messageOf, number } from "../../../shell/format";
import { say } from "../../../words";
import { readChart, scale, type ChartData } from "./chartData";

const widest = 560;
const height = 220;
const pad = { left: 44, right: 8, top: 10, bottom: 26 };

/** A chart that is also a table: what is drawn can be read. */
export function Chart(props: { args: unknown; isLoading?: boolean; error?: string | undefined }) {
  const { args } = props;
  const read = useMemo<{ data?: ChartData; problem?: string }>(() => {
    try {
      return { data: readChart(args) };
    } catch (cause) {
      return { problem: messageOf(cause) };
    }
  }, [args]);
  const [asTable, setAsTable] = useState<boolean>();
  if (props.error || !read.data) {
    return (
      <p className="notice bad" dir="auto">
        {props.isLoading
          ? say("conversation.drawing")
          : (props.error ?? read.problem ?? say("conversation.nothingToDraw"))}
      </p>
    );
  }
  const { data } = read;
  const table = asTable ?? data.kind === "table";
  return (
    <figure className="card chart" aria-busy={props.isLoading === true}>
      <figcaption className="row spread">
        <strong dir="auto">{data.title || say("conversation.chart")}</strong>
        <button type="button" className="quiet small" onClick={() => setAsTable(!table)}>
          {table ? say("conversation.asChart") : say("conversation.asTable")}
        </button>
      </figcaption>
      {table ? (
        <Numbers data={data} />
      ) : (
        <div dir="ltr">
          <Drawing data={data} />
        </div>
      )}
    </figure>
  );
}

/** A value as it was sent, for who wants to know. */
function exact(value: number): string {
  return number(value, { maximumFractionDigits: 20, useGrouping: false });
}

function Numbers({ data }: { data: ChartData }) {
  return (
    <table>
      <tbody>
        {data.values.map((value, i) => (
          <tr key={i}>
            <th scope="row" dir="auto">
              {data.labels[i]}
            </th>
            <td className="number">{number(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Drawing({ data }: { data: ChartData }) {
  // As wide as there is room, so that its letters are as large as any.
  const drawing = useRef<SVGSVGElement>(null);
  const [width, setWidth] = useState(widest);
  useLayoutEffect(() => {
    const element = drawing.current;
    if (!element) return;
    const watch = new ResizeObserver(() => {
      setWidth(Math.min(widest, Math.max(240, Math.round(element.clientWidth))));
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const { low, high, ticks } = scale(data.values);
  const innerWidth = width - pad.left - pad.right;
  const innerHeight = height - pad.top - pad.bottom;
  const slot = innerWidth / data.values.length;
  const y = (v: number) => pad.top + innerHeight * (1 - (v - low) / (high - low));
  const x = (i: number) => pad.left + slot * (i + 0.5);
  const longest = Math.max(...data.labels.map((label) => Math.min(10, label.length)));
  const every = Math.ceil((data.values.length * (longest * 6.5 + 6)) / innerWidth);
  const spoken = data.values.map((v, i) => `${data.labels[i]} ${exact(v)}`).join(", ");
  return (
    <svg
      ref={drawing}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={`${data.title}: ${spoken}`}
    >
      {ticks.map((tick) => (
        <g key={tick}>
          <line className="axis" x1={pad.left} x2={width - pad.right} y1={y(tick)} y2={y(tick)} />
          <text x={pad.left - 6} y={y(tick) + 4} textAnchor="end">
            {number(Number(tick.toPrecision(6)))}
          </text>
        </g>
      ))}
      {data.kind === "line" ? (
        <polyline
          className="line"
          points={data.values.map((v, i) => `${x(i)},${y(v)}`).join(" ")}
        />
      ) : (
        data.values.map((v, i) => (
          <rect
            key={i}
            className="bar-mark"
            x={x(i) - slot * 0.36}
            width={slot * 0.72}
            y={Math.min(y(v), y(0))}
            height={Math.max(1, Math.abs(y(v) - y(0)))}
            rx={3}
          >
            <title>{`${data.labels[i]}: ${exact(v)}`}</title>
          </rect>
        ))
      )}
      {data.labels.map((label, i) =>
        i % every === 0 ? (
          <text key={i} x={x(i)} y={height - 8} textAnchor="middle">
            {label.length > 10 ? `${label.slice(0, 9)}…` : label}
          </text>
        ) : null,
      )}
    </svg>
  );
}
