import { useState, type DragEvent } from "react";

export interface FileDrop {
  /** Something is held over the element. */
  isDragging: boolean;
  /** To be spread on the element. */
  area: {
    onDragOver: (event: DragEvent) => void;
    onDragLeave: () => void;
    onDrop: (event: DragEvent) => void;
  };
}

/** Takes files that are dropped on an element: spread `area` on it. */
export function useFileDrop(upload: (files: Iterable<File>) => void): FileDrop {
  const [isDragging, setDragging] = useState(false);
  return {
    isDragging,
    area: {
      onDragOver: (event: DragEvent) => {
        event.preventDefault();
        setDragging(true);
      },
      onDragLeave: () => setDragging(false),
      onDrop: (event: DragEvent) => {
        event.preventDefault();
        setDragging(false);
        upload(event.dataTransfer.files);
      },
    },
  };
}
