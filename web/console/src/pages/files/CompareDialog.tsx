import { useEffect, useState } from "react";
import { useAsked, useDoing } from "../../shell/asked";
import { Dialog } from "../../shell/Dialog";
import { Icon } from "../../shell/icons";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import type { FileRecord, Files } from "./api";
import { cutTo, diff, hunks, pairs, type Line } from "./diff";
import { say, type Key } from "../../words";

/** The largest text that is compared. */
export const compareLimit = 1024 * 1024;

/** Lines that are drawn; a browser draws more of them slowly. */
const mostLines = 4000;

const signs = { same: " ", gone: "−", new: "+" } as const;
const words: Partial<Record<Line["kind"], Key>> = {
  gone: "files.removedLine",
  new: "files.addedLine",
};

/** An older version beside the newest one, and the way back to it. */
export function CompareDialog(props: {
  file: FileRecord;
  version: number;
  files: Files;
  onClose: () => void;
}) {
  const { file, files, version } = props;
  const isWide = useWide();
  const { data: lines, error } = useAsked({
    queryKey: ["compare", file.id, version, file.version],
    queryFn: async () => {
      const [before, after] = await Promise.all([
        files.content(file.id, version),
        files.content(file.id, file.version),
      ]);
      return diff(await before.text(), await after.text());
    },
  });
  const restoring = useDoing([]);
  const count = (kind: Line["kind"]) => lines?.filter((l) => l.kind === kind).length ?? 0;
  const shown = lines && cutTo(hunks(lines), mostLines);
  return (
    <Dialog
      title={say("files.compared", { name: file.name, version: String(version) })}
      size="wide"
      onClose={props.onClose}
    >
      <Problem error={error || restoring.error} />
      {!lines && !error && <Skeleton lines={4} label={say("files.comparing")} />}
      {lines && (
        <>
          <p className="soft" role="status">
            {count("gone") + count("new") === 0
              ? say("files.sameLines")
              : say("files.differ", {
                  added: count("new"),
                  removed: count("gone"),
                  version: String(version),
                })}
          </p>
          <div
            className="preview diff"
            role="region"
            aria-label={say("files.whatChanged")}
            tabIndex={0}
          >
            {shown?.parts.map((part, i) =>
              Array.isArray(part) ? (
                isWide ? (
                  <SideBySide key={i} lines={part} />
                ) : (
                  <OneAfterAnother key={i} lines={part} />
                )
              ) : (
                <p key={i} className="soft small gap">
                  {say("files.alike", { n: part })}
                </p>
              ),
            )}
            {shown?.isCut && <p className="soft small gap">{say("files.restNotShown")}</p>}
          </div>
          <div className="row end chooser-end">
            <button
              type="button"
              disabled={restoring.isBusy}
              onClick={() =>
                restoring.run(async () => {
                  await files.restoreVersion(file.id, version);
                  props.onClose();
                })
              }
            >
              <Icon name="restore" /> {say("files.restoreVersion", { version: String(version) })}
            </button>
          </div>
        </>
      )}
    </Dialog>
  );
}

/** Whether two texts fit beside each other. */
function useWide(): boolean {
  const query = "(min-width: 761px)";
  const [isWide, setWide] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const change = () => setWide(media.matches);
    media.addEventListener("change", change);
    return () => media.removeEventListener("change", change);
  }, []);
  return isWide;
}

function OneAfterAnother({ lines }: { lines: Line[] }) {
  return (
    <table className="diff-one">
      <tbody>
        {lines.map((line, i) => (
          <tr key={i} className={line.kind}>
            <td className="line-number">{line.after ?? line.before}</td>
            <Side line={line} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function SideBySide({ lines }: { lines: Line[] }) {
  return (
    <table className="diff-two">
      <tbody>
        {pairs(lines).map(({ left, right }, i) => (
          <tr key={i}>
            <td className="line-number">{left?.before}</td>
            <Side line={left} />
            <td className="line-number">{right?.after}</td>
            <Side line={right} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Side({ line }: { line: Line | undefined }) {
  if (!line) return <td className="none" />;
  const word = words[line.kind];
  return (
    <td className={line.kind}>
      <span aria-hidden="true" className="sign">
        {signs[line.kind]}
      </span>
      {word && <span className="visually-hidden">{say(word)} </span>}
      <code>{line.text}</code>
    </td>
  );
}
