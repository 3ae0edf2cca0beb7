import { Link } from "../../shell/Link";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { say } from "../../words";
import { useLook } from "./api";
import { Funnel, type Step } from "./Funnel";
import type { MenuGraph } from "./layout";
import { MenuDrawing } from "./MenuDrawing";

/** The menu as a drawing with counts, and where callers leave it. */
export function MenuView() {
  const graph = useLook<MenuGraph>("/operator/ussd/graph", 15_000);
  const funnel = useLook<{ days: number; steps: Step[] }>("/operator/ussd/funnel", 15_000);
  return (
    <div className="stack">
      <p>
        <Link to="operator/menu/edit" className="button primary">
          {say("operator.editMenu")}
        </Link>
      </p>
      <Problem error={graph.error || funnel.error} />
      {!graph.data && !graph.error && <Skeleton lines={8} label={say("operator.readingMenu")} />}
      {funnel.data && <Funnel days={funnel.data.days} steps={funnel.data.steps} />}
      {graph.data && <MenuDrawing graph={graph.data} />}
    </div>
  );
}
