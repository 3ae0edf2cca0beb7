import { number } from "../../shell/format";
import { say } from "../../words";

export interface Step {
  screen: string;
  state: string;
  shown: number;
  left: number;
  ended: number;
  dropOff: number;
}

/** Screens by how often they were shown, and the share of callers who hung up there. */
export function Funnel(props: {
  days: number;
  steps: Step[];
  /** What screens are called, by their names. */
  titles: Map<string, string>;
}) {
  const { days, steps, titles } = props;
  const used = steps.filter((s) => s.shown > 0).sort((a, b) => b.shown - a.shown);
  const most = used[0]?.shown ?? 1;
  const worst = used.reduce<Step | undefined>(
    (w, s) => (s.left > (w?.left ?? 0) ? s : w),
    undefined,
  );
  return (
    <section className="card stack" aria-label={say("operator.funnel")}>
      <div>
        <h2>{say("operator.whereCallersGo")}</h2>
        <p className="soft small">
          {say("operator.lastDays", { days })}{" "}
          {worst && say("operator.mostLeft", { screen: titles.get(worst.screen) ?? worst.screen })}
        </p>
      </div>
      {used.length === 0 ? (
        <p className="soft centre">{say("operator.nobodyCalled")}</p>
      ) : (
        <table className="funnel">
          <thead>
            <tr>
              <th>{say("operator.screen")}</th>
              <th className="wide-only">
                <span className="visually-hidden">{say("operator.share")}</span>
              </th>
              <th className="number">{say("operator.shown")}</th>
              <th className="number">{say("operator.left")}</th>
            </tr>
          </thead>
          <tbody>
            {used.map((s) => (
              <tr key={s.screen}>
                <td className="path-cell">
                  <span dir="auto">{titles.get(s.screen) ?? s.screen}</span>
                  {titles.has(s.screen) && (
                    <span className="soft small block" dir="auto">
                      {s.screen}
                    </span>
                  )}
                  <span className="narrow-only funnel-bar">
                    <Bar step={s} most={most} />
                  </span>
                </td>
                <td className="wide-only funnel-bar">
                  <Bar step={s} most={most} />
                </td>
                <td className="number">{number(s.shown)}</td>
                <td className="number">
                  {s.left > 0 ? (
                    <span className={s.dropOff >= 0.3 ? "bad" : ""}>
                      {say("operator.percent", { n: Math.round(s.dropOff * 100) })}
                    </span>
                  ) : (
                    <span className="soft">–</span>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function Bar({ step, most }: { step: Step; most: number }) {
  return (
    <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect className="shown" width={(100 * step.shown) / most} height={10} />
      <rect className="left" width={(100 * step.left) / most} height={10} />
    </svg>
  );
}
