import { useCollections, useKnowledge, type ICollection } from "@castalia/oracles-client/knowledge";
import { useCallback, useMemo, useRef, useState } from "react";
import { fileToken, useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import { messageOf } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { useDrop } from "../../shell/useDrop";
import { here } from "../chat/here";
import { Files } from "../files/api";
import { droppedFiles, type Dropped } from "../files/dropped";
import { UploadList } from "../files/UploadList";
import { useUploads } from "../files/uploads";
import { Say, say } from "../../words";
import { askAsOwner } from "./asOwner";
import { AskBox } from "./AskBox";
import { MyQuestions } from "./AskPeople";
import { CollectionCard } from "./CollectionCard";
import { QuestionDesk, type StaffAsk } from "./QuestionDesk";
import { sampleFiles, sampleName } from "./sample";
import "./knowledge.css";

/** Where documents go when nobody has chosen: the command line's collection too. */
const firstName = "documents";

const kinds = ".pdf,.docx,.odt,.xlsx,.csv,.html,.htm,.md,.txt,.epub";

/** The community's documents: what is known, who may ask, and what it answers. */
export default function KnowledgePage() {
  const session = useSession();
  const files = useMemo(() => new Files(session), [session]);
  const list = useCollections({
    oracleDid: session.serviceDid,
    overrides: here,
    fileToken: () => fileToken(session),
  });
  const { collections, documents, create, refetch } = list;
  // What others let one ask.
  const { collections: askable, refetch: lookAgain } = useKnowledge({
    oracleDid: session.serviceDid,
    overrides: here,
  });
  const asStaff: StaffAsk = useCallback(
    (path, method, body) => askAsOwner(session, path, method, body),
    [session],
  );
  // The library asks for the collections again by itself.
  const { run, isBusy, error } = useDoing();
  const adding = useDoing();
  const [gone, setGone] = useState<ReadonlySet<string>>(new Set());
  const [target, setTarget] = useState<string>();
  const picker = useRef<HTMLInputElement>(null);
  const stored = useCallback(() => void refetch(), [refetch]);
  const { add, ...underway } = useUploads(files, stored);

  const first = collections.find((c) => c.name !== sampleName);
  const addTo = useCallback(
    async (chosen: Dropped[], folder?: string) => {
      if (chosen.length === 0) return;
      const to =
        folder ?? first?.folder ?? (await create({ name: firstName, readers: "everybody" })).folder;
      add(chosen, to);
    },
    [first?.folder, create, add],
  );
  const { run: addThem } = adding;
  const drop = useCallback(
    (transfer: DataTransfer) => addThem(async () => addTo(await droppedFiles(transfer))),
    [addThem, addTo],
  );
  const dragging = useDrop(drop);

  function choose(folder?: string) {
    setTarget(folder);
    picker.current?.click();
  }
  const loadSample = () =>
    run(async () => {
      const { folder } =
        collections.find((c) => c.name === sampleName) ??
        (await create({ name: sampleName, readers: "everybody" }));
      add(
        (await sampleFiles()).map((file) => ({ path: file.name, file })),
        folder,
      );
    });
  const remove = (ids: string[]) =>
    run(async () => {
      await files.remove(ids);
      // Knowledge follows the files within seconds.
      setGone((known) => new Set([...known, ...ids]));
    });
  const forget = (collection: string, documents: string[]) =>
    run(async () => {
      await files.remove(documents);
      await list.forget(collection);
      await lookAgain();
    });
  const isEmpty = !list.isLoading && !list.error && collections.length === 0;
  return (
    <div className="page knowledge">
      <header className="page-head">
        <div>
          <h1>{say("shell.knowledge")}</h1>
          <p className="soft">{say("knowledge.what")}</p>
        </div>
        <button
          className="primary"
          type="button"
          aria-label={say("knowledge.addDocuments")}
          onClick={() => choose()}
        >
          <Icon name="upload" />{" "}
          <Say
            id="knowledge.addDocumentsShort"
            tags={{ wide: (inside) => <span className="wide-only">{inside}</span> }}
          />
        </button>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          accept={kinds}
          aria-label={say("knowledge.documentsToAdd")}
          onChange={(event) => {
            const chosen = [...(event.target.files ?? [])];
            event.target.value = "";
            const dropped = chosen.map((file) => ({ path: file.name, file }));
            addThem(() => addTo(dropped, target));
          }}
        />
      </header>
      <Problem error={error || adding.error || (list.error ? messageOf(list.error) : "")} />
      <UploadList {...underway} />
      {(!isEmpty || askable.length > 0) && <AskBox documents={documents} />}
      <MyQuestions />
      {collections.length > 0 && <QuestionDesk staff={session.key.did} ask={asStaff} />}
      {list.isLoading && <Skeleton lines={4} label={say("knowledge.readingCollections")} />}
      {isEmpty && (
        <section className="card nothing">
          <Icon name="book" />
          <h2>{askable.length > 0 ? say("knowledge.noneOfYours") : say("knowledge.none")}</h2>
          <p className="soft">{say("knowledge.dropHint")}</p>
          <div className="row centre-row">
            <button type="button" onClick={() => choose()}>
              {say("knowledge.chooseFiles")}
            </button>
            <button type="button" disabled={isBusy} onClick={() => loadSample()}>
              {say("chat.loadSample")}
            </button>
          </div>
        </section>
      )}
      {collections.map((collection: ICollection) => (
        <CollectionCard
          key={collection.id}
          collection={collection}
          documents={(documents[collection.id] ?? []).filter((d) => !gone.has(d.id))}
          isBusy={isBusy}
          onAdd={() => choose(collection.folder)}
          onChange={(change) => run(() => list.change(collection.id, change))}
          onForget={() => forget(collection.id, [])}
          onRemove={(ids) => remove(ids)}
          onRemoveAll={(ids) => forget(collection.id, ids)}
        />
      ))}
      {dragging && (
        <div className="drop-here">
          <p>
            <Icon name="upload" /> {say("knowledge.dropTo", { name: first?.name ?? firstName })}
          </p>
        </div>
      )}
    </div>
  );
}
