import { Icon } from "../../shell/icons";
import type { Progress, Upload } from "./uploads";
import { say } from "../../words";

/** Lines of the list; the others are counted. */
const most = 20;

/** Files on their way, how far they are, and what became of those that are not. */
export function UploadList(props: {
  uploads: Upload[];
  waiting: number;
  progress: Progress;
  stopAll: () => void;
}) {
  const { uploads, waiting, progress } = props;
  if (uploads.length === 0) return null;
  const isOne = progress.files <= 1;
  const moving = uploads.filter((u) => u.error === undefined);
  const failed = uploads.length - moving.length;
  // What needs an answer is never counted away.
  const shown = [...uploads.filter((u) => u.error !== undefined), ...moving].slice(0, most);
  return (
    <section className="card uploads" aria-label={say("files.uploads")}>
      {!isOne && (
        <div className="upload-all">
          <div className="upload-line">
            <strong className="grow">
              {failed > 0
                ? say("files.uploadedFailed", {
                    finished: progress.finished,
                    all: progress.files,
                    failed,
                  })
                : say("files.uploaded", { finished: progress.finished, all: progress.files })}
            </strong>
            <button type="button" onClick={props.stopAll}>
              {say("files.stopAll")}
            </button>
          </div>
          <progress
            value={progress.finished}
            max={progress.files}
            aria-label={say("files.allUploads")}
          />
        </div>
      )}
      <ul className="plain">
        {shown.map((u) => {
          const name = u.path.slice(1);
          return (
            <li key={u.id}>
              <div className="upload-line">
                <span className="grow path-cell" dir="auto">
                  {name}
                </span>
                {u.error === undefined && (
                  <span className="soft small nobreak">{Math.round(u.share * 100)} %</span>
                )}
                <button
                  type="button"
                  className="quiet"
                  aria-label={say(
                    u.error === undefined ? "files.stopUpload" : "files.forgetUpload",
                    { name },
                  )}
                  title={say(u.error === undefined ? "files.stop" : "files.forget")}
                  onClick={u.stop}
                >
                  <Icon name="close" />
                </button>
              </div>
              {u.error === undefined ? (
                <progress value={u.share} aria-label={say("files.uploadOf", { name })} />
              ) : (
                <div className="upload-line">
                  <p role="alert" className="bad small grow">
                    {u.error}
                  </p>
                  <button
                    type="button"
                    className="nobreak"
                    aria-label={say("files.tryOne", { name })}
                    onClick={u.again}
                  >
                    {say("shell.tryAgain")}
                  </button>
                </div>
              )}
            </li>
          );
        })}
      </ul>
      {uploads.length > most && (
        <p className="soft small">{say("files.andMore", { n: uploads.length - most })}</p>
      )}
      {waiting > 0 && <p className="soft small">{say("files.inQueue", { n: waiting })}</p>}
    </section>
  );
}
