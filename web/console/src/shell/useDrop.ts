import { useEffect, useState } from "react";

/**
 * Takes files that are dropped anywhere in the window, also beside the page's
 * own column: a browser would leave the console and show such a file itself.
 */
export function useDrop(onDrop: (transfer: DataTransfer) => void): boolean {
  const [dragging, setDragging] = useState(false);
  useEffect(() => {
    const carries = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    function over(event: DragEvent) {
      if (!carries(event)) return;
      event.preventDefault();
      setDragging(true);
    }
    // Between two elements of the page there is one that is entered.
    function leave(event: DragEvent) {
      if (!event.relatedTarget) setDragging(false);
    }
    // Also when something of the page takes the drop for itself.
    const end = () => setDragging(false);
    function drop(event: DragEvent) {
      if (!event.dataTransfer || !carries(event)) return;
      event.preventDefault();
      onDrop(event.dataTransfer);
    }
    document.addEventListener("dragover", over);
    document.addEventListener("dragleave", leave);
    document.addEventListener("drop", end, { capture: true });
    document.addEventListener("drop", drop);
    return () => {
      document.removeEventListener("dragover", over);
      document.removeEventListener("dragleave", leave);
      document.removeEventListener("drop", end, { capture: true });
      document.removeEventListener("drop", drop);
    };
  }, [onDrop]);
  return dragging;
}
