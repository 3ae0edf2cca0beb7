import type { ICollection, IDocument, Readers } from "@castalia/oracles-client/knowledge";
import { useState } from "react";
import Confirm from "../../shell/Confirm";
import { ago, bytes, plural } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { Link } from "../../shell/Link";
import { sampleName, sampleNames } from "./sample";

const readers: Record<Readers, string> = {
  everybody: "Everybody may ask",
  members: "Members may ask",
  named: "Named people may ask",
  delegates: "Only holders of a delegation",
};

const states: Record<IDocument["state"], { mood: string; word: string }> = {
  waiting: { mood: "busy", word: "waiting" },
  reading: { mood: "busy", word: "reading" },
  read: { mood: "good", word: "read" },
  failed: { mood: "bad", word: "failed" },
};

/** How many documents are shown before somebody asks for all. */
const some = 50;

/** A collection: who may ask it, and how far each document is. */
export function CollectionCard(props: {
  collection: ICollection;
  documents: IDocument[];
  isBusy: boolean;
  onAdd: () => void;
  onChange: (change: { readers: Readers; dids: string[] }) => void;
  onForget: () => void;
  onRemove: (ids: string[]) => void;
  /** Takes documents and collection away. */
  onRemoveAll: (ids: string[]) => void;
}) {
  const { collection, documents, isBusy } = props;
  const [isAll, setAll] = useState(false);
  const [forgetting, setForgetting] = useState(false);
  const isSample = collection.name === sampleName;
  const shown = isAll ? documents : documents.slice(0, some);
  const { waiting, reading, read, failed } = collection.documents;
  const counts = [
    plural(read, "document") + " read",
    ...(waiting + reading > 0 ? [`${waiting + reading} to be read`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
  ];
  return (
    <section className="card collection" aria-label={collection.name}>
      <header className="collection-head">
        <div className="grow">
          <h2>{collection.name}</h2>
          <p className="soft small">
            {counts.join(", ")} ·{" "}
            <Link to={`files${collection.folder.split("/").map(encodeURIComponent).join("/")}`}>
              {collection.folder}
            </Link>
          </p>
        </div>
        {isSample ? (
          <button
            type="button"
            disabled={isBusy}
            onClick={() =>
              props.onRemoveAll(
                documents.filter((d) => sampleNames.has(baseName(d.path))).map((d) => d.id),
              )
            }
          >
            Remove the sample
          </button>
        ) : (
          <div className="row">
            <button type="button" onClick={props.onAdd} aria-label={`Add to ${collection.name}`}>
              <Icon name="plus" /> Add
            </button>
            <button
              type="button"
              className="quiet"
              aria-label={`Forget ${collection.name}`}
              title="Forget this collection"
              onClick={() => setForgetting(true)}
            >
              <Icon name="trash" />
            </button>
          </div>
        )}
      </header>
      <ReaderChoice
        key={`${collection.readers} ${collection.dids.join(" ")}`}
        collection={collection}
        isBusy={isBusy}
        onChange={props.onChange}
      />
      {collection.waiting && <p className="soft small">{collection.waiting}</p>}
      {documents.length > 0 && (
        <div
          className="table"
          tabIndex={0}
          role="region"
          aria-label={`Documents of ${collection.name}`}
        >
          <table>
            <thead>
              <tr>
                <th>Document</th>
                <th>State</th>
                <th>Pages</th>
                <th className="wide-only">Language</th>
                <th className="wide-only">Changed</th>
                <th>
                  <span className="visually-hidden">Remove</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {shown.map((d) => (
                <DocumentRow
                  key={d.id}
                  document={d}
                  isBusy={isBusy}
                  onRemove={() => props.onRemove([d.id])}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {shown.length < documents.length && (
        <button type="button" className="quiet" onClick={() => setAll(true)}>
          Show all {documents.length}
        </button>
      )}
      {forgetting && (
        <Confirm
          title={`Forget ${collection.name}?`}
          action="Forget"
          onConfirm={props.onForget}
          onClose={() => setForgetting(false)}
        >
          The oracle does not answer from it any more. Its files stay in {collection.folder}.
        </Confirm>
      )}
    </section>
  );
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function DocumentRow(props: { document: IDocument; isBusy: boolean; onRemove: () => void }) {
  const { path, state, why, pages, language, size, changedAt } = props.document;
  const name = baseName(path);
  const { mood, word } = states[state];
  return (
    <tr>
      <td className="path-cell">
        <Link to={`files?open=${encodeURIComponent(path)}`}>{name}</Link>{" "}
        <span className="soft small nobreak">{bytes(size)}</span>
        <span className="soft small narrow-only">
          {[language, ago(changedAt)].filter(Boolean).join(", ")}
        </span>
        {why && <p className={state === "failed" ? "bad small" : "soft small"}>{why}</p>}
      </td>
      <td className="nobreak">
        <span className={`dot ${mood}`} /> {word}
      </td>
      <td>{pages ?? ""}</td>
      <td className="wide-only">{language ?? ""}</td>
      <td className="nobreak wide-only">{ago(changedAt)}</td>
      <td>
        <button
          type="button"
          className="quiet"
          disabled={props.isBusy}
          aria-label={`Remove ${name}`}
          title="Move to the trash"
          onClick={props.onRemove}
        >
          <Icon name="close" />
        </button>
      </td>
    </tr>
  );
}

/** Who may ask; named people are listed by their DIDs. */
function ReaderChoice(props: {
  collection: ICollection;
  isBusy: boolean;
  onChange: (change: { readers: Readers; dids: string[] }) => void;
}) {
  const { collection, isBusy, onChange } = props;
  const [chosen, setChosen] = useState(collection.readers);
  const [names, setNames] = useState(collection.dids.join("\n"));
  const dids = names.split(/\s+/).filter(Boolean);
  return (
    <div className="readers">
      <label>
        <span className="visually-hidden">Who may ask {collection.name}</span>
        <select
          value={chosen}
          disabled={isBusy}
          onChange={(event) => {
            const next = event.target.value as Readers;
            setChosen(next);
            if (next !== "named") onChange({ readers: next, dids: [] });
          }}
        >
          {(Object.keys(readers) as Readers[]).map((kind) => (
            <option key={kind} value={kind}>
              {readers[kind]}
            </option>
          ))}
        </select>
      </label>
      {chosen === "named" && (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            onChange({ readers: "named", dids });
          }}
        >
          <label>
            Their DIDs, one on each line
            <textarea
              rows={3}
              value={names}
              placeholder="did:key:z6Mk…"
              onChange={(event) => setNames(event.target.value)}
            />
          </label>
          <p>
            <button type="submit" disabled={isBusy || dids.length === 0}>
              Save the readers
            </button>
          </p>
        </form>
      )}
    </div>
  );
}
