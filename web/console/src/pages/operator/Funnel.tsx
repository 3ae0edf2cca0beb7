import { plural } from "../../shell/format";

export interface Step {
  screen: string;
  state: string;
  shown: number;
  left: number;
  ended: number;
  dropOff: number;
}

/** Screens by how often they were shown, and the share of callers who hung up there. */
export function Funnel({ days, steps }: { days: number; steps: Step[] }) {
  const used = steps.filter((s) => s.shown > 0).sort((a, b) => b.shown - a.shown);
  const most = used[0]?.shown ?? 1;
  const worst = used.reduce<Step | undefined>(
    (w, s) => (s.left > (w?.left ?? 0) ? s : w),
    undefined,
  );
  return (
    <section className="card stack" aria-label="Funnel">
      <div>
        <h2>Where callers go, and where they leave</h2>
        <p className="soft small">
          The last {plural(days, "day")}.
          {worst && ` Most of those who hung up did so at ${worst.screen}; they are the red part.`}
        </p>
      </div>
      {used.length === 0 ? (
        <p className="soft centre">Nobody has called yet.</p>
      ) : (
        <table className="funnel">
          <thead>
            <tr>
              <th>Screen</th>
              <th className="wide-only">
                <span className="visually-hidden">Share</span>
              </th>
              <th className="number">Shown</th>
              <th className="number">Left</th>
            </tr>
          </thead>
          <tbody>
            {used.map((s) => (
              <tr key={s.screen}>
                <td className="path-cell">
                  {s.screen}
                  <span className="narrow-only funnel-bar">
                    <Bar step={s} most={most} />
                  </span>
                </td>
                <td className="wide-only funnel-bar">
                  <Bar step={s} most={most} />
                </td>
                <td className="number">{s.shown.toLocaleString("en")}</td>
                <td className="number">
                  {s.left > 0 ? (
                    <span className={s.dropOff >= 0.3 ? "bad" : ""}>
                      {Math.round(s.dropOff * 100)} %
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
