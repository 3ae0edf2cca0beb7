import { useState } from "react";
import type { Session } from "../../identity/session";
import { useAsked, useDoing } from "../../shell/asked";
import { Link } from "../../shell/Link";
import { Problem } from "../../shell/Problem";
import { loadWords, say } from "../../words";
import { askAsOwner } from "../knowledge/asOwner";
import { sampleName } from "../knowledge/sample";

/** What it knows to start with: the documents of a community that is made up, or one's own. */
export function KnowledgeCard({ session }: { session: Session }) {
  const key = ["own-collections"];
  const { data, error } = useAsked({
    queryKey: key,
    queryFn: () => askAsOwner<{ collections: { name: string }[] }>(session, "/collections"),
  });
  const doing = useDoing(key);
  const [isLoaded, setLoaded] = useState(false);
  const names = data?.collections.map(({ name }) => name) ?? [];
  const load = () =>
    doing.run(async () => {
      const [{ loadSample }] = await Promise.all([
        import("../knowledge/loadSample"),
        loadWords("knowledge"),
      ]);
      await loadSample(session);
      setLoaded(true);
    });
  const hasSample = isLoaded || (names.includes(sampleName) && !doing.isBusy && !doing.error);
  return (
    <section className="card stack" aria-label={say("setup.knows")}>
      <h2>{say("setup.knows")}</h2>
      <p className="soft">{say("setup.knowsHint")}</p>
      <Problem error={doing.error || error} />
      <p role="status">
        {hasSample
          ? say("setup.sampleThere", { name: sampleName })
          : doing.isBusy
            ? say("chat.readingSample")
            : names.length > 0 && say("setup.collections", { count: names.length })}
      </p>
      <div className="row">
        {!hasSample && (
          <button type="button" disabled={doing.isBusy || !data} onClick={load}>
            {say("chat.loadSample")}
          </button>
        )}
        <Link to="knowledge" className="button">
          {say(hasSample ? "setup.seeDocuments" : "setup.ownDocuments")}
        </Link>
      </div>
    </section>
  );
}
