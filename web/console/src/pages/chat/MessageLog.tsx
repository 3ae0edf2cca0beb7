import { useEffect, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import { Icon } from "../../shell/icons";

/**
 * What was said. It keeps the newest in sight, unless the reader went up to
 * read. It is not read out by itself: the Announcer does that when it is whole.
 */
export function MessageLog(props: {
  messages: unknown;
  busy: boolean;
  /** How often the reader has sent something: then the newest is wanted again. */
  sent: number;
  children: ReactNode;
}) {
  const { messages, busy, sent } = props;
  const log = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const stuck = useRef(true);
  const [away, setAway] = useState(false);
  useEffect(() => {
    const element = log.current;
    if (!element) return;
    const onScroll = () => {
      stuck.current = element.scrollHeight - element.scrollTop - element.clientHeight < 60;
      setAway(!stuck.current);
    };
    element.addEventListener("scroll", onScroll, { passive: true });
    // Charts find their size after they came, and what is below the log grows too.
    const watch = new ResizeObserver(() => {
      if (stuck.current) element.scrollTop = element.scrollHeight;
    });
    watch.observe(element);
    if (content.current) watch.observe(content.current);
    return () => {
      element.removeEventListener("scroll", onScroll);
      watch.disconnect();
    };
  }, []);
  useLayoutEffect(() => {
    stuck.current = true;
  }, [sent]);
  useLayoutEffect(() => {
    const element = log.current;
    if (element && stuck.current) element.scrollTop = element.scrollHeight;
  }, [messages, busy, sent]);
  return (
    <div className="log">
      <div
        ref={log}
        className="messages"
        role="log"
        aria-live="off"
        aria-busy={busy}
        aria-label="Messages"
        tabIndex={0}
      >
        <div ref={content} className="log-content">
          {props.children}
        </div>
      </div>
      {away && (
        <button
          type="button"
          className="round newest"
          aria-label="Go to the newest message"
          title="Go to the newest message"
          onClick={() => {
            const element = log.current;
            if (element) element.scrollTop = element.scrollHeight;
          }}
        >
          <Icon name="down" />
        </button>
      )}
    </div>
  );
}
