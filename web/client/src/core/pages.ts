import type { OracleApi } from "./api";
import { RequestError } from "./errors";
import type { StoredMessage } from "./types";

/** Some messages of a history, the newest unless older ones were asked for. */
export interface Page {
  messages: StoredMessage[];
  prevCursor?: string | null;
  hasOlder?: boolean;
}

/** The history of a session at its oracle, page by page, or whole from one that knows no pages. */
export class HistoryPages {
  readonly #api: OracleApi;
  readonly #session: string;
  readonly #size: number;
  #isUnpaged = false;

  constructor(api: OracleApi, sessionId: string, size: number) {
    this.#api = api;
    this.#session = encodeURIComponent(sessionId);
    this.#size = size;
  }

  async read(before?: string): Promise<Page> {
    if (!this.#isUnpaged) {
      const older = before ? `&before=${encodeURIComponent(before)}` : "";
      try {
        return await this.#api.json<Page>(
          `/sessions/${this.#session}/messages?limit=${this.#size}${older}`,
        );
      } catch (cause) {
        // The status decides, not the body: who knows no pages may say so in any words.
        if (!(cause instanceof RequestError && [404, 405].includes(cause.status))) throw cause;
      }
    }
    const page = await this.#api.json<Page>(`/messages/${this.#session}`);
    this.#isUnpaged = true;
    return page;
  }
}

/** Where the page before this one begins; null when there is none. */
export function cursorOf(page: Page): string | null {
  return page.hasOlder ? (page.prevCursor ?? page.messages[0]?.id ?? null) : null;
}
