import { useId } from "react";
import { date } from "../../../shell/format";
import { say } from "../../../words";
import { dailySums, scaleOf, wordsOf, type Measure, type Series } from "./usage";

/**
 * Numbers of days as bars on top of each other. The same numbers are a table, which is always
 * there for whoever has pages read out, and in sight when it is asked for.
 */
export function Picture(props: {
  title: string;
  days: readonly string[];
  series: Series[];
  text: Measure["text"];
  isTable: boolean;
}) {
  const { title, days, series, text } = props;
  const id = useId();
  const daily = dailySums(series, days.length);
  const top = scaleOf(Math.max(...daily));
  const words = wordsOf(days, series, text);
  return (
    <section className="card stack picture" aria-labelledby={`${id}-name`}>
      <h2 id={`${id}-name`}>{title}</h2>
      <div className="picture-frame">
        <div className="picture-scale soft small" aria-hidden="true">
          <span>{text(top)}</span>
          <span>{text(0)}</span>
        </div>
        <svg
          role="img"
          aria-labelledby={`${id}-title ${id}-desc`}
          viewBox={`0 0 ${days.length} 100`}
          preserveAspectRatio="none"
        >
          <title id={`${id}-title`}>{title}</title>
          <desc id={`${id}-desc`}>{words}</desc>
          <line className="picture-line" x1={0} x2={days.length} y1={50} y2={50} />
          <Bars days={days} series={series} daily={daily} top={top} text={text} />
        </svg>
      </div>
      <div className="picture-days soft small" aria-hidden="true">
        <time dateTime={days[0]}>{date(days[0] ?? "")}</time>
        <time dateTime={days.at(-1)}>{date(days.at(-1) ?? "")}</time>
      </div>
      {series.length > 1 && (
        <ul className="plain row picture-legend" aria-hidden="true">
          {series.map(({ name }, i) => (
            <li key={name} className="small">
              <span className={`picture-key kind-${i}`} />
              <span dir="auto">{name}</span>
            </li>
          ))}
        </ul>
      )}
      <p className="soft small" aria-hidden="true">
        {words}
      </p>
      <div
        className={props.isTable ? "picture-table" : "visually-hidden"}
        tabIndex={props.isTable ? 0 : undefined}
      >
        <Numbers {...props} daily={daily} />
      </div>
    </section>
  );
}

function Bars(props: {
  days: readonly string[];
  series: Series[];
  daily: number[];
  top: number;
  text: Measure["text"];
}) {
  const { days, series, daily, top, text } = props;
  return days.map((day, i) => {
    let below = 0;
    return (
      <g key={day}>
        {series.map(({ name, values }, kind) => {
          const height = (100 * (values[i] ?? 0)) / top;
          below += height;
          return (
            height > 0 && (
              <rect
                key={name}
                className={`kind-${kind}`}
                x={i + 0.12}
                y={100 - below}
                width={0.76}
                height={height}
              />
            )
          );
        })}
        <rect className="picture-day" x={i} y={0} width={1} height={100}>
          <title>{say("usage.onDay", { day: date(day), value: text(daily[i] ?? 0) })}</title>
        </rect>
      </g>
    );
  });
}

function Numbers(props: {
  title: string;
  days: readonly string[];
  series: Series[];
  daily: number[];
  text: Measure["text"];
}) {
  const { days, series, daily, text } = props;
  const isSplit = series.length > 1;
  return (
    <table>
      <caption className="visually-hidden">{props.title}</caption>
      <thead>
        <tr>
          <th scope="col">{say("usage.day")}</th>
          {isSplit &&
            series.map(({ name }) => (
              <th key={name} scope="col" className="number">
                <span dir="auto">{name}</span>
              </th>
            ))}
          <th scope="col" className="number">
            {say("usage.total")}
          </th>
        </tr>
      </thead>
      <tbody>
        {days.map((day, i) => (
          <tr key={day}>
            <th scope="row">
              <time dateTime={day}>{date(day)}</time>
            </th>
            {isSplit &&
              series.map(({ name, values }) => (
                <td key={name} className="number">
                  {text(values[i] ?? 0)}
                </td>
              ))}
            <td className="number">{text(daily[i] ?? 0)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
