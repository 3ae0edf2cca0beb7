import type { IMessage } from "@castalia/oracles-client";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Heights, moved, rowsOf, spanOf, type Place, type Row } from "./span";

/** So near to the end counts as at the end. */
const near = 60;

/**
 * Draws of a long conversation what is near the reader, and keeps the newest in
 * sight unless the reader went up. What they read then stays where it is, whatever
 * is put above it, grows or is measured anew.
 */
export function useScroll(messages: IMessage[], isBusy: boolean, isAsked: boolean) {
  const log = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const isStuck = useRef(true);
  const size = useRef("");
  const anchor = useRef<{ element: Element; top: number }>(undefined);
  const latest = useRef({ messages, from: 0, to: 0 });
  const [heights] = useState(() => new Heights());
  const [isAway, setAway] = useState(false);
  const [place, setPlace] = useState<Place>();
  const [keptId, setKeptId] = useState<string>();
  const { from, to } = spanOf(messages, heights, place, isAway);
  const rows: Row[] = rowsOf(messages, heights, { from, to }, keptId);

  /** Remembers what the reader sees first. */
  const look = useCallback(() => {
    const top = log.current?.getBoundingClientRect().top ?? 0;
    for (const element of list.current?.children ?? []) {
      if (!(element instanceof HTMLElement) || element.dataset["message"] === undefined) continue;
      const box = element.getBoundingClientRect();
      if (box.bottom <= top) continue;
      anchor.current = { element, top: box.top };
      return;
    }
    anchor.current = undefined;
  }, []);

  /** Whether the log, or what is in it, has another size than it had. */
  const isResized = useCallback((element: HTMLElement) => {
    const before = size.current;
    size.current = `${element.clientHeight} ${element.scrollHeight}`;
    return size.current !== before;
  }, []);

  useLayoutEffect(() => {
    latest.current = { messages, from, to };
  });
  const follow = useCallback(() => {
    const element = log.current;
    const area = list.current;
    if (!element || !area) return;
    // Events come after what they tell of: of a new size the watch has not heard yet, and a log
    // that was at its end is no longer there, although nobody went up.
    if (isResized(element) && isStuck.current) return;
    isStuck.current = element.scrollHeight - element.scrollTop - element.clientHeight < near;
    setAway(!isStuck.current);
    look();
    const box = element.getBoundingClientRect();
    const top = box.top - area.getBoundingClientRect().top;
    const now = latest.current;
    const next = moved(now.messages, heights, now, { top, bottom: top + box.height });
    if (next) setPlace(next);
  }, [heights, look, isResized]);

  useEffect(() => {
    const element = log.current;
    if (!element) return;
    element.addEventListener("scroll", follow, { passive: true });
    // Charts find their size after they came, and what is below the log grows too.
    const watch = new ResizeObserver(() => {
      isResized(element);
      if (isStuck.current) element.scrollTop = element.scrollHeight;
      else follow();
    });
    watch.observe(element);
    if (content.current) watch.observe(content.current);
    return () => {
      element.removeEventListener("scroll", follow);
      watch.disconnect();
    };
  }, [follow, isResized]);

  useLayoutEffect(() => {
    if (isAsked) isStuck.current = true;
  }, [isAsked]);
  useLayoutEffect(() => {
    const element = log.current;
    if (!element) return;
    const before = anchor.current;
    isResized(element);
    if (isStuck.current) element.scrollTop = element.scrollHeight;
    else if (before?.element.isConnected) {
      const by = before.element.getBoundingClientRect().top - before.top;
      if (by !== 0) element.scrollTop += by;
    }
    look();
  }, [messages, isBusy, isAsked, from, to, look, isResized]);

  /** Follows the height of a message for as long as it is drawn. */
  const measure = useCallback(
    (id: string, element: HTMLElement) => {
      let before: number | undefined;
      const watch = new ResizeObserver(([entry]) => {
        const height = entry?.borderBoxSize[0]?.blockSize ?? 0;
        heights.set(id, height);
        const box = log.current;
        const by = before === undefined ? 0 : height - before;
        before = height;
        if (by === 0 || isStuck.current || !box) return;
        // What grows above the reader does not push down what they read.
        const end = element.getBoundingClientRect().bottom - by;
        if (end <= box.getBoundingClientRect().top) box.scrollTop += by;
      });
      watch.observe(element);
      return () => watch.disconnect();
    },
    [heights],
  );

  const toEnd = useCallback(() => {
    const element = log.current;
    if (element) element.scrollTop = element.scrollHeight;
  }, []);
  return { log, content, list, rows, isAway, measure, toEnd, keep: setKeptId };
}
