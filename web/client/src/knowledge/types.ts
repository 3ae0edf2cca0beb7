/** Where a passage stands. */
export interface ISource {
  collection: string;
  collectionName: string;
  /** The id of its file; to open it takes a right to the file. */
  document: string;
  name: string;
  title: string;
  /** The passage's own number in the document. */
  number: number;
  page?: number;
  part?: string;
  anchor?: string;
  line?: number;
  headings: string[];
}

/** A passage that answers: one to three sentences word for word, and all of it. */
export interface IHit extends ISource {
  sentences: string[];
  text: string;
  score: number;
}

/** What the documents say. */
export interface IAnswer {
  answered: boolean;
  confidence: number;
  hits: IHit[];
  /** Titles of documents that come closest when nothing answers. */
  nearest: string[];
}

export interface IPassage extends ISource {
  text: string;
}

/** Who may ask a collection, besides its owner and holders of a delegation for its folder. */
export type Readers = "everybody" | "members" | "named" | "delegates";

/** A folder whose documents answer questions, as its owner sees it. */
export interface ICollection {
  id: string;
  name: string;
  folder: string;
  readers: Readers;
  /** The named readers. */
  dids: string[];
  createdAt: string;
  updatedAt: string;
  documents: { waiting: number; reading: number; read: number; failed: number };
  /** Whether the chosen readers may ask; `waiting` says what is missing. */
  published: boolean;
  waiting?: string;
  /** Whether all files of the folder are in the list of documents. */
  complete: boolean;
}

/** A document and how far it is read. */
export interface IDocument {
  id: string;
  path: string;
  state: "waiting" | "reading" | "read" | "failed";
  /** What went wrong, or was left out. */
  why?: string;
  pages?: number;
  language?: string;
  passages: number;
  size: number;
  version: number;
  changedAt: string;
  readAt?: string;
}

/** A question that people answer. */
export interface IQuestion {
  id: string;
  collection: string;
  collectionName: string;
  question: string;
  language?: string;
  /** Where it was asked: web or telephone. */
  channel: string;
  /** Who asked, if they agreed to be shown. */
  from?: string;
  state: "waiting" | "answered" | "dismissed";
  answer?: string;
  /** It wins from now on where the same is asked. */
  kept?: boolean;
  askedAt: string;
  settledAt?: string;
}
