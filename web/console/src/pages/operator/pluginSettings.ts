/** A setting of a plugin, as GET /operator/plugins tells it. */
export interface PluginSetting {
  name: string;
  doc: string;
  kind: "text" | "number" | "boolean" | "duration" | "list" | "choice";
  allowed: string;
  choices?: string[];
  default: string;
  /** In force; empty for secrets, of which given tells whether there is one. */
  value: string;
  secret: boolean;
  given: boolean;
  source: string;
  readOnly: boolean;
  stored: boolean;
  /** What is stored, where it is no secret. */
  next?: string;
  /** What is stored counts after the next start only. */
  restart: boolean;
}

/** What its field shows before anybody types. Secrets are never shown again. */
export function shownValue(setting: PluginSetting): string {
  if (setting.secret) return "";
  if (setting.readOnly) return setting.value;
  return setting.stored ? (setting.next ?? "") : setting.restart ? "" : setting.value;
}

/** What is sent: the fields that were changed. What was emptied, or is the default again, is taken away. */
export function changesOf(
  settings: PluginSetting[],
  typed: Readonly<Record<string, string>>,
): Record<string, string | null> {
  const out: Record<string, string | null> = {};
  for (const setting of settings) {
    const text = typed[setting.name]?.trim();
    if (setting.readOnly || text === undefined || text === shownValue(setting)) continue;
    const isBack = !setting.secret && text === setting.default;
    out[setting.name] = text === "" || isBack ? null : text;
  }
  return out;
}
