import { useState } from "react";
import { Icon } from "../shell/icons";
import { go } from "../shell/router";
import { say } from "../words";
import { askForCopyIn } from "./copyDue";
import "./keyNotice.css";

/** Asks whoever has no copy of their key to make one, when there is something to lose. */
export default function CopyNotice() {
  const [isLeft, setLeft] = useState(false);
  const leave = () => {
    askForCopyIn(7);
    setLeft(true);
  };
  if (isLeft) return null;
  return (
    <div className="stack key-notices">
      <section className="card key-notice" aria-label={say("copy.noticeTitle")}>
        <p role="status">
          <Icon name="lock" /> {say("copy.notice")}
        </p>
        <div className="row">
          <button
            type="button"
            className="primary"
            onClick={() => {
              leave();
              go("about");
            }}
          >
            {say("copy.makeCopy")}
          </button>
          <button type="button" onClick={leave}>
            {say("copy.later")}
          </button>
        </div>
      </section>
    </div>
  );
}
