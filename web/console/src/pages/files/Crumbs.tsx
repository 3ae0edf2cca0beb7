import { useState, type DragEvent } from "react";
import { Link } from "../../shell/Link";
import { say } from "../../words";

/** What a folder does with what is dragged over it. */
export interface DropTarget {
  over: (folder: string, event: DragEvent) => boolean;
  drop: (folder: string, event: DragEvent) => void;
}

/** The way to a folder. Each step takes what is dropped on it. */
export function Crumbs({ folder, target }: { folder: string; target: DropTarget }) {
  const parts = folder.split("/").filter(Boolean);
  const steps = ["/", ...parts.map((_, i) => `/${parts.slice(0, i + 1).join("/")}`)];
  return (
    <nav aria-label={say("files.folder")} className="crumbs">
      <ol>
        {steps.map((path, i) => (
          <Crumb
            key={path}
            path={path}
            name={parts[i - 1] ?? say("files.allFiles")}
            isHere={path === folder}
            target={target}
          />
        ))}
      </ol>
    </nav>
  );
}

function Crumb(props: { path: string; name: string; isHere: boolean; target: DropTarget }) {
  const { path, target } = props;
  const [isOver, setOver] = useState(false);
  return (
    <li
      className={isOver ? "over" : undefined}
      onDragOver={(event) => {
        const takes = !props.isHere && target.over(path, event);
        if (takes) event.preventDefault();
        setOver(takes);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        setOver(false);
        if (!props.isHere) target.drop(path, event);
      }}
    >
      <Link
        to={`files${path === "/" ? "" : path.split("/").map(encodeURIComponent).join("/")}`}
        current={props.isHere}
      >
        <span dir="auto">{props.name}</span>
      </Link>
    </li>
  );
}
