import { Dialog } from "./Dialog";
import type { Shortcut } from "./shortcuts";

/** What the keyboard can do. */
export default function ShortcutList(props: { shortcuts: Shortcut[]; onClose: () => void }) {
  const always: [string, string][] = [
    ["Enter", "Send the message"],
    ["Shift Enter", "Begin a new line"],
    ["Esc", "Close a dialog, or stop the answer"],
  ];
  return (
    <Dialog title="Keyboard shortcuts" onClose={props.onClose}>
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
