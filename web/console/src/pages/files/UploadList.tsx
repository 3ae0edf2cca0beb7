import { plural } from "../../shell/format";
import { Icon } from "../../shell/icons";
import type { Upload } from "./uploads";

/** Files on their way, how far they are, and what became of those that are not. */
export function UploadList({ uploads, waiting }: { uploads: Upload[]; waiting: number }) {
  if (uploads.length === 0) return null;
  return (
    <section className="card uploads" aria-label="Uploads">
      <ul className="plain">
        {uploads.map((u) => {
          const name = u.path.slice(1);
          return (
            <li key={u.path}>
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
      {waiting > 0 && <p className="soft small">{plural(waiting, "more file")} in the queue</p>}
    </section>
  );
}
