import type { ICollection, IDocument, Readers } from "@castalia/oracles-client/knowledge";
import { useState } from "react";
import Confirm from "../../shell/Confirm";
import { ago, bytes, number } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { Link } from "../../shell/Link";
import { say, type Key } from "../../words";
import { languageName } from "./languageName";
import { sampleName, sampleNames } from "./sample";

const readers: Record<Readers, Key> = {
  everybody: "knowledge.everybody",
  members: "knowledge.members",
  named: "knowledge.named",
  delegates: "knowledge.delegates",
};

const states: Record<IDocument["state"], { mood: string; word: Key }> = {
  waiting: { mood: "busy", word: "knowledge.waiting" },
  reading: { mood: "busy", word: "knowledge.reading" },
  read: { mood: "good", word: "knowledge.read" },
  failed: { mood: "bad", word: "knowledge.failed" },
};

const exampleDid = "did:key:z6Mk…";

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
  return (
    <section className="card collection" aria-label={collection.name}>
      <header className="collection-head">
        <div className="grow">
          <h2 dir="auto">{collection.name}</h2>
          <p className="soft small">
            {say("knowledge.counts", { read, waiting: waiting + reading, failed })} ·{" "}
            <Link to={`files${collection.folder.split("/").map(encodeURIComponent).join("/")}`}>
              <span dir="auto">{collection.folder}</span>
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
            {say("knowledge.removeSample")}
          </button>
        ) : (
          <div className="row">
            <button
              type="button"
              onClick={props.onAdd}
              aria-label={say("knowledge.addTo", { name: collection.name })}
            >
              <Icon name="plus" /> {say("knowledge.add")}
            </button>
            <button
              type="button"
              className="quiet"
              aria-label={say("knowledge.forgetOne", { name: collection.name })}
              title={say("knowledge.forgetThis")}
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
      {collection.waiting && <p className="soft small">{say("knowledge.unpublished")}</p>}
      {documents.length > 0 && (
        <div
          className="table"
          tabIndex={0}
          role="region"
          aria-label={say("knowledge.documentsOf", { name: collection.name })}
        >
          <table>
            <thead>
              <tr>
                <th>{say("knowledge.document")}</th>
                <th>{say("knowledge.state")}</th>
                <th>{say("knowledge.pages")}</th>
                <th className="wide-only">{say("knowledge.language")}</th>
                <th className="wide-only">{say("knowledge.changed")}</th>
                <th>
                  <span className="visually-hidden">{say("knowledge.remove")}</span>
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
          {say("knowledge.showAll", { n: documents.length })}
        </button>
      )}
      {forgetting && (
        <Confirm
          title={say("knowledge.forgetAsk", { name: collection.name })}
          action={say("knowledge.forget")}
          onConfirm={props.onForget}
          onClose={() => setForgetting(false)}
        >
          {say("knowledge.forgetHint", { folder: collection.folder })}
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
        <Link to={`files?open=${encodeURIComponent(path)}`}>
          <span dir="auto">{name}</span>
        </Link>{" "}
        <span className="soft small nobreak">{bytes(size)}</span>
        <span className="soft small narrow-only" dir="auto">
          {[languageName(language), ago(changedAt)].filter(Boolean).join(", ")}
        </span>
        {why && (
          <p className={state === "failed" ? "bad small" : "soft small"} dir="auto">
            {why}
          </p>
        )}
      </td>
      <td className="nobreak">
        <span className={`dot ${mood}`} /> {say(word)}
      </td>
      <td>{pages === undefined ? "" : number(pages)}</td>
      <td className="wide-only" dir="auto">
        {languageName(language)}
      </td>
      <td className="nobreak wide-only">{ago(changedAt)}</td>
      <td>
        <button
          type="button"
          className="quiet"
          disabled={props.isBusy}
          aria-label={say("knowledge.removeOne", { name })}
          title={say("knowledge.moveToTrash")}
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
        <span className="visually-hidden">
          {say("knowledge.whoMayAsk", { name: collection.name })}
        </span>
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
              {say(readers[kind])}
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
            {say("knowledge.theirDids")}
            <textarea
              rows={3}
              value={names}
              placeholder={exampleDid}
              dir="auto"
              onChange={(event) => setNames(event.target.value)}
            />
          </label>
          <p>
            <button type="submit" disabled={isBusy || dids.length === 0}>
              {say("knowledge.saveReaders")}
            </button>
          </p>
        </form>
      )}
    </div>
  );
}
