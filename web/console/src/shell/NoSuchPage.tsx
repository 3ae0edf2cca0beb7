import { say, type Key } from "../words";
import { Icon } from "./icons";
import { Link } from "./Link";

/** What stands at an address that leads nowhere, here or among an operator's pages. */
export default function NoSuchPage(props: {
  /** Where to go instead. */
  to?: string | undefined;
  named?: Key | undefined;
  /** It stands below the heading of other pages. */
  isInner?: boolean;
}) {
  const { to = "about", named = "shell.about", isInner } = props;
  const Heading = isInner ? "h2" : "h1";
  const card = (
    <section className="card nothing">
      <Icon name="query" />
      <Heading>{say("absent.page")}</Heading>
      <p className="soft">{say("absent.hint")}</p>
      <p>
        <Link to={to} className="button">
          {say("shell.goTo", { page: say(named) })}
        </Link>
      </p>
    </section>
  );
  return isInner ? card : <div className="page">{card}</div>;
}
