import type { BrowserTools } from "@castalia/oracles-client";
import { go } from "../../shell/router";
import { getTheme, setTheme, themes, type Theme } from "../../shell/theme";
import { say, type Key } from "../../words";

const pages = ["chat", "files", "knowledge", "telephone", "query", "operator", "about"];

function oneOf(values: readonly string[], description: string) {
  return { type: "string", enum: values, description };
}

/** What is said of a theme that was chosen. */
const sayings: Record<Theme, Key> = {
  auto: "conversation.themeAuto",
  dark: "conversation.themeDark",
  light: "conversation.themeLight",
};

/** Three things that only the user's own page can know or do. */
export const browserTools: BrowserTools = {
  set_theme: {
    toolName: "set_theme",
    // eslint-disable-next-line words/text -- the oracle reads it
    description: "Sets the colour theme of the user's page: light, dark or auto.",
    schema: {
      type: "object",
      properties: { theme: oneOf(themes, "the theme to show") },
      required: ["theme"],
      additionalProperties: false,
    },
    fn: ({ theme }: { theme: Theme }) => {
      if (!themes.includes(theme))
        throw new Error(say("conversation.noTheme", { name: String(theme) }));
      const before = getTheme();
      setTheme(theme);
      return { message: say(sayings[theme]), before, now: theme };
    },
  },
  open_page: {
    toolName: "open_page",
    // eslint-disable-next-line words/text -- the oracle reads it
    description: "Opens another page of the console in the user's browser.",
    schema: {
      type: "object",
      properties: { page: oneOf(pages, "the page to open") },
      required: ["page"],
      additionalProperties: false,
    },
    fn: ({ page }: { page: string }) => {
      if (!pages.includes(page))
        throw new Error(say("conversation.noPage", { name: String(page) }));
      // The answer is written here first: the user reads it on the way back.
      setTimeout(() => go(page), 400);
      return { opened: page };
    },
  },
  device_facts: {
    toolName: "device_facts",
    description:
      // eslint-disable-next-line words/text -- the oracle reads it
      "Tells the clock, the time zone, the language and the window of the user's device.",
    schema: { type: "object", properties: {}, additionalProperties: false },
    fn: () => ({
      time: new Date().toString(),
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      language: navigator.language,
      window: `${innerWidth} × ${innerHeight}`,
      theme: getTheme(),
    }),
  },
};
