import { plural } from "../../shell/format";
import { Icon } from "../../shell/icons";
import type { Progress, Upload } from "./uploads";

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
    <section className="card uploads" aria-label="Uploads">
      {!isOne && (
        <div className="upload-all">
          <div className="upload-line">
            <strong className="grow">
              {plural(progress.finished, "file")} of {progress.files.toLocaleString("en")}
              {failed > 0 && `, ${failed} failed`}
            </strong>
            <button type="button" onClick={props.stopAll}>
              Stop all
            </button>
          </div>
          <progress value={progress.finished} max={progress.files} aria-label="All uploads" />
        </div>
      )}
      <ul className="plain">
        {shown.map((u) => {
          const name = u.path.slice(1);
          return (
            <li key={u.id}>
              <div className="upload-line">
                <span className="grow path-cell">{name}</span>
                {u.error === undefined && (
                  <span className="soft small nobreak">{Math.round(u.share * 100)} %</span>
                )}
                <button
                  type="button"
                  className="quiet"
                  aria-label={`${u.error === undefined ? "Stop the upload of" : "Forget"} ${name}`}
                  title={u.error === undefined ? "Stop" : "Forget"}
                  onClick={u.stop}
                >
                  <Icon name="close" />
                </button>
              </div>
              {u.error === undefined ? (
                <progress value={u.share} aria-label={`Upload of ${name}`} />
              ) : (
                <div className="upload-line">
                  <p role="alert" className="bad small grow">
                    {u.error}
                  </p>
                  <button
                    type="button"
                    className="nobreak"
                    aria-label={`Try ${name} again`}
                    onClick={u.again}
                  >
                    Try again
                  </button>
                </div>
              )}
            </li>
          );
        })}
      </ul>
      {uploads.length > most && <p className="soft small">and {uploads.length - most} more</p>}
      {waiting > 0 && <p className="soft small">{plural(waiting, "more file")} in the queue</p>}
    </section>
  );
}
