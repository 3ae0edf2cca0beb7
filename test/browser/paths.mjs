// The pages of the console, as every test that walks them all has them.

/** Pages that everybody has. */
const own = ["chat", "call", "files", "knowledge", "telephone", "connect", "query", "about"];

/** Views of the operator. */
const views = [
  "sessions",
  "menu",
  "menu/edit",
  "accounts",
  "telephone",
  "nodes",
  "people",
  "knowledge",
  "usage",
  "plugins",
  "settings",
  "backups",
  "retention",
  "logs",
  "audit",
];

/** Pages that somebody comes to by a link. */
const linked = ["share", "invite", "link", "setup"];

export const paths = [...own, "operator", ...views.map((view) => `operator/${view}`), ...linked];
