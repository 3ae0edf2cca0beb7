import { fileToken, type Session } from "../../identity/session";
import { ask, NotOperator } from "../operator/api";
import { say } from "../../words";
import { askAsOwner } from "./asOwner";
import { sampleFiles, sampleName } from "./sample";

interface Collection {
  id: string;
  name: string;
  folder: string;
}

/** How often, and how far apart, a page asks whether what it has just stored was read. */
const looks = { most: 60, apart: 500 };

/**
 * Stores the documents of the sample community, waits until they were read, and publishes them, so that they also answer
 * on the telephone. For somebody who is no operator they answer all the same, to that person.
 */
export async function loadSample(session: Session): Promise<void> {
  const { collections } = await askAsOwner<{ collections: Collection[] }>(session, "/collections");
  const { id, folder } =
    collections.find(({ name }) => name === sampleName) ??
    (await askAsOwner<Collection>(session, "/collections", "POST", {
      name: sampleName,
      readers: "everybody",
    }));
  const files = await sampleFiles();
  for (const file of files) {
    const path = encodeURIComponent(`${folder.replace(/\/$/, "")}/${file.name}`);
    const reply = await fetch(`/api/fs/content?path=${path}`, {
      method: "PUT",
      headers: { Authorization: `Bearer ${await fileToken(session)}`, "Content-Type": file.type },
      body: file,
    });
    if (!reply.ok)
      throw new Error(say("knowledge.notStored", { name: file.name, status: reply.status }));
  }
  for (let n = 0; n < looks.most; n++) {
    const { documents } = await askAsOwner<{ documents: { state: string }[] }>(
      session,
      `/collections/${encodeURIComponent(id)}/documents`,
    );
    const read = documents.filter(({ state }) => state === "read");
    if (read.length >= files.length) return publish(session, id);
    await new Promise((done) => setTimeout(done, looks.apart));
  }
  throw new Error(say("knowledge.notReadYet"));
}

async function publish(session: Session, id: string): Promise<void> {
  const path = `/operator/knowledge/collections/${encodeURIComponent(id)}/published`;
  try {
    await ask(session, path, "PUT", { readers: "everybody" });
  } catch (cause) {
    if (!(cause instanceof NotOperator)) throw cause;
    throw new Error(say("knowledge.notPublished"), {
      cause,
    });
  }
}
