import { useEffect, useRef } from "react";
import { drawCode } from "../../identity/drawCode";
import { Icon } from "../../shell/icons";
import { saveAs } from "../../shell/save";
import { say } from "../../words";

const fileName = "castalia-key.png";

/** Pixels of a module: enough for paper. */
const scale = 6;

/** A key as a QR code, drawn here: the server sees neither the key nor a picture of it. */
export default function KeyCode({ digits }: { digits: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const rows = drawCode(digits);
    const drawn = canvas.current;
    const brush = drawn?.getContext("2d");
    if (!drawn || !brush) return;
    drawn.width = drawn.height = rows.length * scale;
    brush.fillStyle = "#fff";
    brush.fillRect(0, 0, drawn.width, drawn.height);
    brush.fillStyle = "#000";
    rows.forEach((row, y) =>
      row.forEach((isDark, x) => isDark && brush.fillRect(x * scale, y * scale, scale, scale)),
    );
  }, [digits]);
  const save = () => canvas.current?.toBlob((blob) => blob && saveAs(blob, fileName), "image/png");
  return (
    <>
      <p>{say("copy.codeHint")}</p>
      <canvas ref={canvas} className="key-code" role="img" aria-label={say("copy.codeName")} />
      <div className="row">
        <button type="button" onClick={save}>
          <Icon name="download" /> {say("copy.saveCode")}
        </button>
      </div>
    </>
  );
}
