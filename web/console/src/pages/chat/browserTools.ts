import type { BrowserTools } from "@castalia/oracles-client";

const none = { type: "object", properties: {}, additionalProperties: false };

/** Three things that only the user's own page can know or do. */
export const browserTools: BrowserTools = {
  page_theme: {
    toolName: "page_theme",
    description: "Tells which colour theme the user's page shows: light, dark or auto.",
    schema: none,
    fn: () => ({ theme: document.documentElement.dataset["theme"] ?? "auto" }),
  },
  page_clock: {
    toolName: "page_clock",
    description: "Tells the time and time zone on the user's own device.",
    schema: none,
    fn: () => ({
      time: new Date().toString(),
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    }),
  },
  page_size: {
    toolName: "page_size",
    description: "Tells the size of the user's window in pixels and whether it is in front.",
    schema: none,
    fn: () => ({ width: innerWidth, height: innerHeight, visible: !document.hidden }),
  },
};
