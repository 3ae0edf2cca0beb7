import type { IFeedback, IMessageVersion, StoredMessage } from "../core/types";

/** The versions of one turn. */
interface Versions {
  /** The messages that begin them, oldest first. */
  ids: string[];
  kinds: IMessageVersion["kind"][];
  /** What follows from each that is not shown. */
  tails: Map<string, StoredMessage[]>;
}

/** Which versions of turns there are in the histories of a fake oracle, and what readers think of answers. */
export class FakeVersions {
  readonly #history: Map<string, StoredMessage[]>;
  readonly #all: Versions[] = [];
  readonly #feedback = new Map<string, IFeedback>();

  constructor(history: Map<string, StoredMessage[]>) {
    this.#history = history;
  }

  /** A history with what is known of its versions and its readers. */
  shown(sessionId: string): StoredMessage[] {
    return (this.#history.get(sessionId) ?? []).map((message) => {
      const feedback = this.#feedback.get(message.id);
      const version = this.#versionOf(message.id);
      return { ...message, ...(version ? { version } : {}), ...(feedback ? { feedback } : {}) };
    });
  }

  /** The message that begins the turn of a message; of the last turn for "last". */
  questionOf(sessionId: string, id: string): StoredMessage | undefined {
    const all = this.#history.get(sessionId) ?? [];
    const at = id === "last" ? all.length - 1 : all.findIndex((m) => m.id === id);
    return all.slice(0, at + 1).findLast((m) => m.type === "human");
  }

  /** Puts a question in the place of another: that one, and what follows it, is kept as a version. */
  branch(sessionId: string, old: StoredMessage, mine: StoredMessage): void {
    const all = this.#history.get(sessionId) ?? [];
    const at = all.indexOf(old);
    let versions = this.#of(old.id);
    if (!versions) {
      versions = { ids: [old.id], kinds: ["original"], tails: new Map() };
      this.#all.push(versions);
    }
    versions.tails.set(old.id, all.slice(at));
    versions.ids.push(mine.id);
    versions.kinds.push(mine.content === old.content ? "regenerated" : "edited");
    this.#history.set(sessionId, [...all.slice(0, at), mine]);
  }

  /** Shows a version; tells whether there is such a one. */
  choose(sessionId: string, id: string): boolean {
    const all = this.#history.get(sessionId) ?? [];
    const versions = this.#of(id);
    const at = all.findIndex((m) => versions?.ids.includes(m.id));
    const now = all[at];
    if (!versions || !now) return false;
    const tail = versions.tails.get(id);
    if (tail) {
      versions.tails.set(now.id, all.slice(at));
      versions.tails.delete(id);
      this.#history.set(sessionId, [...all.slice(0, at), ...tail]);
    }
    return true;
  }

  /** Rates an answer; nothing takes it back. */
  rate(id: string, feedback: IFeedback | undefined): void {
    if (feedback) this.#feedback.set(id, feedback);
    else this.#feedback.delete(id);
  }

  #of(id: string): Versions | undefined {
    return this.#all.find((versions) => versions.ids.includes(id));
  }

  #versionOf(id: string): IMessageVersion | undefined {
    const versions = this.#of(id);
    if (!versions) return undefined;
    const at = versions.ids.indexOf(id);
    const kind = versions.kinds[at] ?? "original";
    return { number: at + 1, count: versions.ids.length, kind, messageIds: versions.ids };
  }
}
