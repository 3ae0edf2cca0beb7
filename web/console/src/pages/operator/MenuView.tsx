import { useState } from "react";
import { Link } from "../../shell/Link";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { list } from "../../shell/format";
import { say } from "../../words";
import { useLook } from "./api";
import { Funnel, type Step } from "./Funnel";
import { titlesOf, type MenuGraph } from "./layout";
import { MenuDrawing } from "./MenuDrawing";

/** One of the menus; the one without codes is for all other codes. */
interface Entry {
  name: string;
  version: string;
  codes: string[];
}

/** The menu as a drawing with counts, and where callers leave it; with several menus, of one of them. */
export function MenuView() {
  const [chosen, setChosen] = useState("");
  const menus = useLook<{ menus: Entry[] }>("/operator/ussd/menus", 60_000);
  const entries = menus.data?.menus ?? [];
  // A code that another version of the menus took away leads to the menu of all others.
  const code = entries.some(({ codes }) => codes[0] === chosen) ? chosen : "";
  const asked = code && `?${new URLSearchParams({ code })}`;
  const graph = useLook<MenuGraph>(`/operator/ussd/graph${asked}`, 15_000);
  const funnel = useLook<{ days: number; steps: Step[] }>(`/operator/ussd/funnel${asked}`, 15_000);
  return (
    <div className="stack">
      <div className="row">
        <Link to="operator/menu/edit" className="button primary">
          {say("operator.editMenu")}
        </Link>
        {entries.length > 1 && (
          <label>
            {say("operator.menuOf")}
            <select value={code} onChange={(event) => setChosen(event.target.value)}>
              {entries.map(({ name, codes }) => (
                <option key={codes[0] ?? ""} value={codes[0] ?? ""}>
                  {say("operator.menuName", {
                    name,
                    codes: codes.length > 0 ? list(codes) : say("operator.otherCodes"),
                  })}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      <Problem error={graph.error || funnel.error || menus.error} />
      {!graph.data && !graph.error && <Skeleton lines={8} label={say("operator.readingMenu")} />}
      {funnel.data && (
        <Funnel days={funnel.data.days} steps={funnel.data.steps} titles={titlesOf(graph.data)} />
      )}
      {graph.data && <MenuDrawing key={code} graph={graph.data} />}
    </div>
  );
}
