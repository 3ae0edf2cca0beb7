import { Dialog } from "./Dialog";
import type { Shortcut } from "./shortcuts";
import { say } from "../words";

/** What the keyboard can do. */
export default function ShortcutList(props: { shortcuts: Shortcut[]; onClose: () => void }) {
  const always: [string, string][] = [
    ["Enter", say("shell.sendMessage")],
    ["Shift Enter", say("shell.newLine")],
    ["Esc", say("shell.closeOrStop")],
  ];
  return (
    <Dialog title={say("shell.shortcuts")} onClose={props.onClose}>
      <dl className="shortcuts">
        {[...props.shortcuts.map((s): [string, string] => [s.keys, s.does]), ...always].map(
          ([keys, does]) => (
            <div key={keys}>
              <dt>
                {keys.split(" ").map((key, i) => (
                  <kbd key={i}>{key}</kbd>
                ))}
              </dt>
              <dd>{does}</dd>
            </div>
          ),
        )}
      </dl>
    </Dialog>
  );
}
