import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { oracleEventNames, readOracleEvent } from "./events";
import { EventParser, type ServerSentEvent } from "./sse";

const vectors = new URL("../../../../spec/vectors/", import.meta.url);
const load = <T>(name: string): T => JSON.parse(readFileSync(new URL(name, vectors), "utf8")) as T;

interface StreamCase {
  name: string;
  stream: string;
  events: { name: string; id: string; data: string }[];
}

/** Every way to cut a stream that a network may choose. */
const cuts: Record<string, (stream: string) => string[]> = {
  whole: (stream) => [stream],
  "character by character": (stream) => stream.split(""),
  "in threes": (stream) => stream.match(/[^]{1,3}/g) ?? [],
};

describe("spec/vectors/sse/parse.json", () => {
  for (const { name, stream, events } of load<{ cases: StreamCase[] }>("sse/parse.json").cases) {
    for (const [how, cut] of Object.entries(cuts)) {
      test(`${name}, ${how}`, () => {
        const seen: ServerSentEvent[] = [];
        const parser = new EventParser((event) => seen.push(event));
        cut(stream).forEach((chunk) => parser.push(chunk));
        expect(seen).toEqual(events.map((e) => ({ event: e.name, id: e.id, data: e.data })));
      });
    }
  }
});

interface EventCase {
  event: string;
  payload: Record<string, unknown>;
  frame: string;
}

describe("spec/vectors/socket/events.json", () => {
  const { server } = load<{ server: EventCase[] }>("socket/events.json");
  for (const { event, payload, frame } of server) {
    test(event, () => {
      const [name, argument] = JSON.parse(frame.slice(2)) as [string, unknown];
      expect(oracleEventNames).toContain(name);
      expect(readOracleEvent(name, argument)).toEqual({ eventName: event, payload });
    });
  }
});
