import { Say } from "../../../words";
import { code } from "../parts";
import type { Ruled } from "./choices";

/** Why something cannot be changed here, where a variable or a file of the server rules. */
export function RuledBy({ ruled }: { ruled: Ruled }) {
  if (!ruled.readOnly) return null;
  return (
    <p className="soft">
      <Say id="choices.ruled" values={{ where: ruled.where ?? "" }} tags={{ code }} />
    </p>
  );
}
