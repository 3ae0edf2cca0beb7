import { useFeatures } from "../../../shell/features";
import { Problem } from "../../../shell/Problem";
import { Skeleton } from "../../../shell/Skeleton";
import { say } from "../../../words";
import { useMe } from "../api";
import { AddressCard } from "./AddressCard";
import { DocumentsCard } from "./DocumentsCard";
import { DoorCard } from "./DoorCard";
import { ModelCard } from "./ModelCard";
import { NameCard } from "./NameCard";

/**
 * What was chosen at the first setup, to be chosen anew: the name, who may come, what answers,
 * and how, and where it is reached.
 */
export default function OracleView() {
  const { services } = useFeatures();
  const { data: me, error } = useMe();
  if (!me) {
    return error ? (
      <Problem error={error} />
    ) : (
      <Skeleton lines={6} label={say("operator.asking")} />
    );
  }
  const mayChange = me.role !== "viewer";
  return (
    <div className="stack">
      <NameCard mayChange={mayChange} />
      <div className="grid">
        <DoorCard mayChange={mayChange} />
        {services.includes("oracle") && <ModelCard mayChange={mayChange} />}
      </div>
      <AddressCard mayChange={mayChange} />
      <DocumentsCard mayChange={mayChange} />
    </div>
  );
}
