import {
  lazy,
  Suspense,
  useState,
  type ChangeEvent,
  type ClipboardEvent,
  type FormEvent,
} from "react";
import { say } from "../words";
import { bringKey, longest, readKey } from "./bring";
import { keepKey, type KeptKey } from "./vault";
import "./bringKey.css";

const CameraDialog = lazy(() => import("./CameraDialog"));

/** What a telephone's camera makes has less, in bytes. */
const largest = 32 * 2 ** 20;

/** The key in a picture of its QR code. */
async function fromPicture(file: File): Promise<KeptKey> {
  const { codeIn, pixelsOf } = await import("./readCode");
  const picture =
    file.size <= largest ? await createImageBitmap(file).catch(() => undefined) : undefined;
  if (!picture) throw new Error(say("bring.notPicture"));
  const pixels = pixelsOf(picture, picture.width, picture.height);
  picture.close();
  const text = pixels && codeIn(pixels, true);
  if (text === undefined) throw new Error(say("bring.noCode"));
  return bringKey(text);
}

/** The ways to bring a key that was made elsewhere: its text, its words, its file, its QR code. */
export default function BringKey({ run }: { run: (work: () => Promise<KeptKey>) => void }) {
  const [pasted, setPasted] = useState("");
  const [isShown, setShown] = useState(false);
  const [isLooking, setLooking] = useState(false);

  function enter(event: FormEvent) {
    event.preventDefault();
    run(() => bringKey(pasted));
  }
  // A field of one line would join the words of two.
  function paste(event: ClipboardEvent<HTMLInputElement>) {
    const { selectionStart, selectionEnd } = event.currentTarget;
    event.preventDefault();
    const brought = event.clipboardData.getData("text").replace(/\s+/g, " ");
    const [from, to] = [selectionStart ?? pasted.length, selectionEnd ?? pasted.length];
    setPasted(pasted.slice(0, from) + brought + pasted.slice(to));
  }
  function open(event: ChangeEvent<HTMLInputElement>, read: (file: File) => Promise<KeptKey>) {
    const file = event.target.files?.[0];
    event.target.value = "";
    if (file) run(() => read(file));
  }
  /** Whether a code that the camera sees is a key; it is kept then. */
  async function see(text: string) {
    const key = await readKey(text).catch(() => undefined);
    if (!key) return false;
    setLooking(false);
    run(() => keepKey(key));
    return true;
  }
  return (
    <form className="bring-key" onSubmit={enter}>
      <label>
        {say("bring.key")}
        <input
          type={isShown ? "text" : "password"}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          dir="ltr"
          value={pasted}
          onPaste={paste}
          onChange={(event) => setPasted(event.target.value)}
        />
      </label>
      <label className="choice">
        <input
          type="checkbox"
          checked={isShown}
          onChange={(event) => setShown(event.target.checked)}
        />
        {say("bring.show")}
      </label>
      <button type="submit" disabled={pasted.trim() === ""}>
        {say("bring.enter")}
      </button>
      <div className="row">
        <label className="button">
          {say("bring.file")}
          <input
            type="file"
            className="visually-hidden"
            onChange={(event) =>
              open(event, async (f) => bringKey(await f.slice(0, longest).text()))
            }
          />
        </label>
        <label className="button">
          {say("bring.picture")}
          <input
            type="file"
            accept="image/*"
            className="visually-hidden"
            onChange={(event) => open(event, fromPicture)}
          />
        </label>
        {"mediaDevices" in navigator && (
          <button type="button" onClick={() => setLooking(true)}>
            {say("bring.camera")}
          </button>
        )}
      </div>
      {isLooking && (
        <Suspense>
          <CameraDialog onText={see} onClose={() => setLooking(false)} />
        </Suspense>
      )}
    </form>
  );
}
