import { bytes, number } from "../../shell/format";
import { say } from "../../words";

/** What the next sweep would erase of a table. */
export interface Due {
  table: string;
  rows: number;
  more?: boolean;
}

/** A kind of record that grows without end. Without keep it is kept for ever. */
export interface Kept {
  name: string;
  doc: string;
  keep?: string;
  due: Due[];
}

/** A table as it was last measured. */
export interface Table {
  name: string;
  rows: number;
  bytes?: number;
  rowsADay?: number;
  bytesADay?: number;
  day: string;
}

export interface Retention {
  classes: Kept[];
  tables: Table[];
  source: string;
  readOnly: boolean;
  exported: boolean;
  archived?: Archived;
}

/** The conversations in the archive; bytes are those of their rows as text. */
export interface Archived {
  conversations: number;
  bytes: number;
  stored: number;
}

/** How long each class is kept, as it is typed. */
export type Rules = Record<string, string>;

/** The rules in force, to be changed. */
export function rulesOf(classes: Kept[]): Rules {
  return Object.fromEntries(classes.map(({ name, keep }) => [name, keep ?? ""]));
}

/** The document that says so: a line for each class that is not kept for ever. */
export function rulesText(rules: Rules): string {
  return Object.entries(rules)
    .filter(([, keep]) => keep.trim() !== "")
    .map(([name, keep]) => `${name}: ${JSON.stringify(keep.trim())}\n`)
    .join("");
}

/** How many records would go, in words. */
export function dueWords(due: Due[]): string {
  const rows = due.reduce((sum, one) => sum + one.rows, 0);
  const isMore = due.some((one) => one.more);
  if (rows === 0 && !isMore) return say("operator.nothingGoes");
  return say(isMore ? "operator.rowsOrMoreGo" : "operator.rowsGo", { rows });
}

/** What the archive holds, in words; nothing where it is empty. */
export function archivedWords(archived: Archived | undefined): string {
  if (!archived || archived.conversations === 0) return "";
  const { conversations } = archived;
  return say("operator.archived", {
    conversations,
    stored: bytes(archived.stored),
    text: bytes(archived.bytes),
  });
}

/** By how much a table grows a day, in words. */
export function growth(rowsADay: number | undefined): string {
  if (rowsADay === undefined) return say("operator.notKnownYet");
  return number(rowsADay, { signDisplay: "exceptZero" });
}

/** The tables that hold something, the largest first. */
export function largest(tables: Table[]): Table[] {
  return tables
    .filter(({ rows }) => rows > 0)
    .sort((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0) || b.rows - a.rows);
}
