/**
 * What the console says, in the language that was chosen. `say` may be called in any function,
 * never while a module is loaded: the words of a page come beside its code, not before it. What
 * a constant needs to name is a `Key`. The linter refuses the rest.
 */
import { english, type Labels } from "@castalia/oracles-ui";
import { createElement, Fragment, type ReactNode } from "react";
import { base, first, languages, version, type Catalogue } from "virtual:words";
import type source from "../../languages/en.json";
import { parse, parts, type Node } from "./message";

type Source = Omit<typeof source, "$language">;

/** The first half of every key: what one page, or what all of them say. */
export type Area = keyof Source;

/** A message of the language files. */
export type Key = { [A in Area]: `${A}.${keyof Source[A] & string}` }[Area];

/** What the server says of something that it did not do. */
export interface Failure {
  status?: number | undefined;
  /** Its name for programs, which stays when the words change. */
  code?: string | undefined;
  message: string;
}

/** The areas that every page needs; they are one file. */
const common: readonly Area[] = ["shell", "identity", "chat", "ui"];

const stored = "castalia-language";
/** English with marks, for tests: what is not marked did not come from a language file. */
const pseudo = "pseudo";

const words = new Map<string, string | Node[]>();
const asked = new Map<Area, Promise<void>>();
let language = "en";
let locale = "en";
let direction = "ltr";
let labels: Labels = english;
let explain = ({ message }: Failure): string => message;

take(first);

function take(catalogue: Catalogue, mark?: (message: Node[]) => Node[]): void {
  for (const [area, messages] of Object.entries(catalogue)) {
    for (const [key, text] of Object.entries(messages)) {
      words.set(`${area}.${key}`, mark ? mark(parse(text)) : text);
    }
  }
}

function message(key: string): Node[] {
  const found = words.get(key) ?? [key];
  if (typeof found !== "string") return found;
  const read = parse(found);
  words.set(key, read);
  return read;
}

/** A name in another script does not turn the sentence around it. */
function isolated<T>(value: T): T | string {
  return typeof value === "string" && direction === "rtl" ? `\u2068${value}\u2069` : value;
}

/** A sentence in the reader's language. Numbers are written as there; what is no quantity is a string. */
export function say(key: Key, values: Record<string, string | number> = {}): string {
  return parts<string>(
    message(key),
    locale,
    (name, isShown) => (isShown ? isolated(values[name]) : values[name]),
    (_, inside) => inside.join(""),
  ).join("");
}

/**
 * What the server names, in the reader's language: a setting, a document, a kind of record. This
 * build has no words for what a plugin of somebody else's brings.
 */
export function titleOf(name: string): string | undefined {
  const key = `titles.${name}`;
  return words.has(key) ? say(key as Key) : undefined;
}

/** A sentence with something in it that is more than text: values may be drawn, tags wrap what they mark. */
export function Say(props: {
  id: Key;
  values?: Record<string, ReactNode>;
  tags?: Record<string, (inside: ReactNode) => ReactNode>;
}) {
  const all = parts<ReactNode>(
    message(props.id),
    locale,
    (name, isShown) => (isShown ? isolated(props.values?.[name]) : props.values?.[name]),
    (name, inside) => {
      const drawn = createElement(Fragment, null, ...inside);
      return props.tags?.[name]?.(drawn) ?? drawn;
    },
  );
  return createElement(Fragment, null, ...all);
}

/** The chosen language as Intl knows it, with the reader's region where the browser tells it. */
export function localeNow(): string {
  return locale;
}

/** Which language is shown, of those there are. */
export function languageNow(): string {
  return language;
}

/** What the components of the library say. */
export function labelsNow(): Labels {
  return labels;
}

/** Brings the words of areas, once. */
export async function loadWords(...areas: Area[]): Promise<void> {
  await Promise.all(
    areas.map((area) => {
      let loading = common.includes(area) ? Promise.resolve() : asked.get(area);
      if (!loading) {
        loading = fetchWords(area);
        asked.set(area, loading);
        // Whoever opens the page again asks again.
        loading.catch(() => asked.delete(area));
      }
      return loading;
    }),
  );
}

async function fetchWords(file: string): Promise<void> {
  if (import.meta.env.MODE === "test") return;
  const from = language === pseudo ? "en" : language;
  const got = (await import(/* @vite-ignore */ `${base}words-${from}-${file}-${version}.js`)) as {
    default: Catalogue;
  };
  take(got.default, language === pseudo ? (await import("./pseudo")).marked : undefined);
}

/** The language to show: as the address says, as was chosen here, as the browser asks, English. */
export function chosen(
  wanted: readonly (string | null)[],
  offered: readonly { code: string }[] = languages,
): string {
  for (const want of wanted) {
    if (want === pseudo) return pseudo;
    const found = offered.find(({ code }) => want?.split("-")[0] === code);
    if (found) return found.code;
  }
  return "en";
}

/** Chooses the language and brings what every page says in it, before anything is drawn. */
export async function startWords(): Promise<void> {
  const address = new URLSearchParams(location.search).get("language");
  show(chosen([address, localStorage.getItem(stored), ...navigator.languages]));
  const spoken = document.documentElement.lang;
  // The browser asks in its own language by itself.
  if (navigator.languages[0]?.split("-")[0] !== spoken) globalThis.fetch = askingIn(spoken);
  if (language === "en") return;
  try {
    const [{ inWords, translate }] = await Promise.all([import("./labels"), fetchWords("common")]);
    labels = translate();
    // Nobody waits for them: until then the server's own words have to do.
    loadWords("errors").then(
      () => (explain = inWords),
      () => undefined,
    );
  } catch {
    // A page in English is worth more than none.
    show("en");
  }
}

/** Asks our server for what it says itself in a language that the browser knows nothing of. */
export function askingIn(code: string, plain = globalThis.fetch.bind(globalThis)): typeof fetch {
  return (input, init) => {
    const request = input instanceof Request ? input : undefined;
    const { origin } = new URL(request?.url ?? String(input), location.href);
    if (origin !== location.origin) return plain(input, init);
    const headers = new Headers(init?.headers ?? request?.headers);
    if (!headers.has("Accept-Language")) headers.set("Accept-Language", code);
    return plain(input, { ...init, headers });
  };
}

/** What the server refused, in the reader's language. It speaks English itself. */
export function explained(failure: Failure): string {
  return language === "en" ? failure.message : explain(failure);
}

function show(code: string): void {
  language = code;
  const spoken = code === pseudo ? "en" : code;
  locale = navigator.languages.find((l) => l.split("-")[0] === spoken) ?? spoken;
  direction = languages.find((one) => one.code === code)?.direction ?? "ltr";
  document.documentElement.lang = spoken;
  document.documentElement.dir = direction;
  labels = { ...english, when };
}

/** A moment, as the reader's country writes it. */
export function when(time: string): string {
  return new Date(time).toLocaleString(locale, { dateStyle: "medium", timeStyle: "short" });
}

/** Shows everything in another language from now on. */
export function chooseLanguage(code: string): void {
  localStorage.setItem(stored, code);
  const here = new URL(location.href);
  here.searchParams.delete("language");
  history.replaceState(history.state, "", here);
  location.reload();
}

export { languages };
