/**
 * What a link to chosen content was made for. The store keeps CIDs sealed in the
 * delegation and no names, so the browser that made the link remembers them.
 */
const key = (owner: string) => `castalia-links ${owner}`;

const most = 200;

function read(owner: string): [string, string[]][] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key(owner)) ?? "[]");
    return Array.isArray(kept) ? (kept as unknown[]).filter(isEntry) : [];
  } catch {
    return [];
  }
}

function isEntry(entry: unknown): entry is [string, string[]] {
  return (
    Array.isArray(entry) &&
    typeof entry[0] === "string" &&
    Array.isArray(entry[1]) &&
    entry[1].every((name) => typeof name === "string")
  );
}

export function rememberLink(owner: string, id: string, names: string[]): void {
  const kept = [...read(owner), [id, names]].slice(-most);
  try {
    localStorage.setItem(key(owner), JSON.stringify(kept));
  } catch {
    // A full storage forgets names, nothing more.
  }
}

export function namesOf(owner: string, id: string): string[] | undefined {
  return read(owner).find(([known]) => known === id)?.[1];
}

/**
 * The address of a link, as it is handed to people. A server that was not told its own address
 * answers with a path, or with the loopback address at which it was asked: then people reach it as
 * this page did.
 */
export function linkAddress(url: string, origin: string): string {
  const address = new URL(url, origin);
  const guessed = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(address.hostname);
  return guessed ? new URL(address.pathname, origin).href : address.href;
}

/** Where this page gets the QR code of a link's address; links with keys in them have none. */
export function codeOf(link: string): string | undefined {
  const { pathname } = new URL(link);
  return pathname.startsWith("/s/") ? `${pathname}?qr=1` : undefined;
}
