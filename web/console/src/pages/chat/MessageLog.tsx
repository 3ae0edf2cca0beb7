import { useEffect, useLayoutEffect, useRef, type ReactNode } from "react";

/** What was said. It keeps the newest in sight, unless the reader went up to read. */
export function MessageLog(props: {
  messages: unknown;
  busy: boolean;
  /** How often the reader has sent something: then the newest is wanted again. */
  sent: number;
  children: ReactNode;
}) {
  const { messages, busy, sent } = props;
  const log = useRef<HTMLDivElement>(null);
  const stuck = useRef(true);
  useEffect(() => {
    const element = log.current;
    if (!element) return;
    const onScroll = () => {
      stuck.current = element.scrollHeight - element.scrollTop - element.clientHeight < 60;
    };
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => element.removeEventListener("scroll", onScroll);
  }, []);
  useLayoutEffect(() => {
    stuck.current = true;
  }, [sent]);
  useLayoutEffect(() => {
    const element = log.current;
    if (element && stuck.current) element.scrollTop = element.scrollHeight;
  }, [messages, busy, sent]);
  return (
    <div
      ref={log}
      className="messages"
      role="log"
      aria-live="polite"
      aria-busy={busy}
      aria-label="Messages"
      tabIndex={0}
    >
      {props.children}
    </div>
  );
}
