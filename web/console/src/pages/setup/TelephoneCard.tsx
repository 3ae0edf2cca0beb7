import { Link } from "../../shell/Link";
import { Problem } from "../../shell/Problem";
import { Say, say } from "../../words";
import { useLook } from "../operator/api";
import type { MenuGraph } from "../operator/layout";
import { documentPath, type StoredText } from "../operator/oracle/choices";

/** What callers get, a telephone to try it with, and what a real short code takes. */
export function TelephoneCard() {
  const menu = useLook<StoredText>(documentPath("menu"), 60_000);
  const graph = useLook<MenuGraph>("/operator/ussd/graph", 60_000);
  const first = graph.data?.nodes.find(({ id }) => id === graph.data?.start);
  return (
    <section className="card stack" aria-label={say("setup.telephone")}>
      <h2>{say("setup.telephone")}</h2>
      <p className="soft">{say("setup.telephoneHint")}</p>
      <Problem error={menu.error || graph.error} />
      {menu.data && graph.data && (
        <p>
          {say("setup.menu", { source: sourceOf(menu.data), screens: graph.data.nodes.length })}
          {menu.data.where && (
            <>
              {" "}
              <code>{menu.data.where}</code>
            </>
          )}
        </p>
      )}
      {first?.text && (
        <figure className="stack first-screen">
          <figcaption className="soft small">{say("setup.firstScreen")}</figcaption>
          <pre dir="auto">{first.text}</pre>
        </figure>
      )}
      <div className="row">
        <Link to="telephone" className="button">
          {say("setup.simulator")}
        </Link>
        <Link to="operator/menu/edit" className="button">
          {say("setup.changeMenu")}
        </Link>
      </div>
      <h3>{say("setup.shortCode")}</h3>
      <ul>
        <li>{say("setup.shortCodeRent")}</li>
        <li>
          <Say
            id="setup.shortCodeReach"
            values={{ address: `${location.origin}/api/ussd` }}
            tags={{ code: (inside) => <code>{inside}</code> }}
          />
        </li>
        <li>
          <Say
            id="setup.shortCodeGuard"
            values={{ gateways: "USSD_GATEWAYS", key: "PIN_ENCRYPTION_KEY" }}
            tags={{ code: (inside) => <code>{inside}</code> }}
          />
        </li>
      </ul>
      <p>
        <a href="/guides/ussd#connect-a-gateway">{say("setup.shortCodeGuide")}</a>
      </p>
    </section>
  );
}

/** Who says what the menu is, by a name that the words know. */
function sourceOf({ source, newest }: StoredText): string {
  if (source === "built in") return "builtin";
  return source === "database" && newest > 0 ? "published" : "settings";
}
