import { Icon } from "../../shell/icons";
import { Link } from "../../shell/Link";

/** The way from a conversation to a call about it. */
export function CallLink({ sessionId }: { sessionId: string }) {
  return (
    <Link
      to={`call/${encodeURIComponent(sessionId)}`}
      className="button quiet"
      label="Speak instead of typing"
    >
      <Icon name="call" />
    </Link>
  );
}
