import { describe, expect, test } from "vitest";
import { EventParser, readEvents, type ServerSentEvent } from "./sse";

function parse(...chunks: string[]): ServerSentEvent[] {
  const seen: ServerSentEvent[] = [];
  const parser = new EventParser((event) => seen.push(event));
  chunks.forEach((chunk) => parser.push(chunk));
  return seen;
}

const message = (data: string, id = "", event = "message") => ({ event, data, id });

describe("EventParser", () => {
  test.each([
    ["LF", "data: a\n\ndata: b\n\n"],
    ["CR", "data: a\r\rdata: b\r\r"],
    ["CRLF", "data: a\r\n\r\ndata: b\r\n\r\n"],
    ["all of them", "data: a\r\n\rdata: b\n\r\n"],
  ])("takes %s as line ending, cut anywhere", (_, stream) => {
    for (let cut = 0; cut <= stream.length; cut++) {
      expect(parse(stream.slice(0, cut), stream.slice(cut))).toEqual([message("a"), message("b")]);
    }
    expect(parse(...stream)).toEqual([message("a"), message("b")]);
  });

  test("a CRLF that is split over chunks, with empty ones between, is one ending", () => {
    expect(parse("data: a\r", "", "\ndata: b\r", "\n\r", "\n")).toEqual([message("a\nb")]);
  });

  test("one byte order mark is dropped, at the start only", () => {
    expect(parse("\uFEFFdata: a\n\n")).toEqual([message("a")]);
    expect(parse("", "\uFEFF", "data: a\n\n")).toEqual([message("a")]);
    expect(parse("\uFEFF\uFEFFdata: a\n\n")).toEqual([]);
    expect(parse("data: a\n\n\uFEFFdata: b\n\n")).toEqual([message("a")]);
  });

  test("comments end nothing and say nothing", () => {
    expect(parse(": heartbeat\n\ndata: a\n: in between\ndata: b\n\n")).toEqual([message("a\nb")]);
  });

  test("data lines are joined; one space after the colon is not data", () => {
    expect(parse("data: a\ndata:b\ndata:  c\ndata\ndata: \n\n")).toEqual([message("a\nb\n c\n\n")]);
    expect(parse("data\n\n")).toEqual([message("")]);
  });

  test("an id stays until it changes, also over events; one with NUL is ignored", () => {
    expect(parse("id: 1\ndata: a\n\ndata: b\n\nid: \0\ndata: c\n\nid\ndata: d\n\n")).toEqual([
      message("a", "1"),
      message("b", "1"),
      message("c", "1"),
      message("d"),
    ]);
  });

  test("an id without data is kept; a name without data is not", () => {
    expect(parse("event: x\nid: 7\n\ndata: a\n\n")).toEqual([message("a", "7")]);
  });

  test("unknown fields and retry are ignored, field names are exact", () => {
    expect(parse("retry: 5\nDATA: no\n data: no\nfoo\nevent: x\ndata: a\n\n")).toEqual([
      message("a", "", "x"),
    ]);
  });

  test("an event that the end cuts off is dropped", () => {
    expect(parse("data: a\n\ndata: b\n")).toEqual([message("a")]);
  });

  test("a line without an end is refused before it fills the memory", () => {
    const parser = new EventParser(() => undefined);
    const chunk = "x".repeat(1024 * 1024);
    expect(() => {
      for (let i = 0; i < 20; i++) parser.push(chunk);
    }).toThrow("too long");
  });

  test("an event of endless lines is refused too", () => {
    const parser = new EventParser(() => undefined);
    const line = `data: ${"x".repeat(1024 * 1024)}\n`;
    expect(() => {
      for (let i = 0; i < 20; i++) parser.push(line);
    }).toThrow("too long");
  });
});

describe("readEvents", () => {
  test("characters that are split over chunks stay whole", async () => {
    const bytes = new TextEncoder().encode("\uFEFFdata: grüß 👋\n\n");
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    const seen: ServerSentEvent[] = [];
    for await (const event of readEvents(body)) seen.push(event);
    expect(seen).toEqual([message("grüß 👋")]);
  });

  test.each([
    ["in one piece", 1],
    ["in many", 500],
  ])("much that is there at once, %s, is not read in one task", async (_, pieces) => {
    const all = Array.from({ length: 500 }, (_, n) => `data: ${n}\n\n`);
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let n = 0; n < pieces; n++) {
          const piece = all.slice((n * 500) / pieces, ((n + 1) * 500) / pieces).join("");
          controller.enqueue(new TextEncoder().encode(piece));
        }
        controller.close();
      },
    });
    const { port1, port2 } = new MessageChannel();
    let task = 0;
    port1.onmessage = () => {
      task++;
      port2.postMessage(undefined);
    };
    port2.postMessage(undefined);
    const seen: string[] = [];
    const tasks = new Set<number>();
    for await (const { data } of readEvents(body)) {
      seen.push(data);
      tasks.add(task);
    }
    port1.close();
    expect(seen).toEqual(all.map((_, n) => `${n}`));
    expect(tasks.size).toBeGreaterThan(2);
  });

  test("who stops reading lets the line go", async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new TextEncoder().encode("data: a\n\n")),
      cancel: () => {
        cancelled = true;
      },
    });
    for await (const event of readEvents(body)) {
      expect(event.data).toBe("a");
      break;
    }
    expect(cancelled).toBe(true);
  });
});
