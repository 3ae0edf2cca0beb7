import { useEffect, useRef, useState } from "react";

/** Rows beside those in sight that are drawn too, so that scrolling shows no gap. */
const spare = 8;

/** How tall a row is, which the style sheet says the same: it depends on the width of the window. */
export function useRowHeight(): number {
  const [height, setHeight] = useState(measured);
  useEffect(() => {
    const narrow = matchMedia("(max-width: 760px)");
    const change = () => setHeight(measured());
    narrow.addEventListener("change", change);
    return () => narrow.removeEventListener("change", change);
  }, []);
  return height;
}

function measured(): number {
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
  return (matchMedia("(max-width: 760px)").matches ? 3.75 : 2.75) * rem;
}

/** Which rows of a tall list are in sight, whatever around it scrolls. */
export function useVisible(count: number, height: number) {
  const list = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState({ from: 0, to: 30 });
  useEffect(() => {
    let frame = 0;
    function look() {
      frame = 0;
      const top = list.current?.getBoundingClientRect().top;
      if (top === undefined) return;
      // In steps, so that not every pixel draws the page anew.
      const step = (rows: number) => Math.floor(rows / spare) * spare;
      const from = Math.max(0, step(-top / height) - spare);
      const to = step((innerHeight - top) / height) + 2 * spare;
      setRange((was) => (was.from === from && was.to === to ? was : { from, to }));
    }
    const later = () => {
      frame ||= requestAnimationFrame(look);
    };
    look();
    document.addEventListener("scroll", later, { capture: true, passive: true });
    addEventListener("resize", later);
    return () => {
      cancelAnimationFrame(frame);
      document.removeEventListener("scroll", later, { capture: true });
      removeEventListener("resize", later);
    };
  }, [height, count]);
  return { list, from: Math.min(range.from, count), to: Math.min(range.to, count) };
}
