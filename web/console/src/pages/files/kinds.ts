/** How a file is shown. */
export type Kind = "text" | "table" | "image" | "pdf" | "audio" | "video" | "document";

/** Of texts and tables the beginning is shown; the others are loaded whole, up to so much. */
export const textShown = 256 * 1024;
const whole: Partial<Record<Kind, number>> = {
  image: 16 * 1024 * 1024,
  pdf: 32 * 1024 * 1024,
  audio: 64 * 1024 * 1024,
  video: 64 * 1024 * 1024,
  document: 32 * 1024 * 1024,
};

/** Programs and settings, which browsers do not know as text. */
const code =
  /\.(go|rs|py|rb|js|mjs|cjs|ts|tsx|jsx|c|h|cc|cpp|hpp|java|kt|swift|php|sh|bash|sql|lua|proto|css|scss|html?|svg|xml|json|jsonl|ya?ml|toml|ini|cfg|conf|env|md|markdown|txt|log|diff|patch|tex|csv|tsv)$/i;

const documents =
  /^application\/(vnd\.openxmlformats-officedocument\.(wordprocessingml\.document|spreadsheetml\.sheet)|vnd\.oasis\.opendocument\.text|epub\+zip)$/;

/** What a browser draws without running anything; SVG and HTML are shown as their text. */
export function kindOf(mimeType: string, size: number, name = ""): Kind | undefined {
  const kind = bySort(mimeType.split(";")[0]?.trim().toLowerCase() ?? "", name);
  return kind && size <= (whole[kind] ?? Infinity) ? kind : undefined;
}

function bySort(type: string, name: string): Kind | undefined {
  if (/^image\/(png|jpeg|gif|webp|avif)$/.test(type)) return "image";
  if (/^text\/(csv|tab-separated-values)$/.test(type) || /\.(csv|tsv)$/i.test(name)) return "table";
  if (type === "application/pdf") return "pdf";
  if (/^audio\/(mpeg|mp4|aac|ogg|opus|wav|x-wav|webm|flac)$/.test(type)) return "audio";
  if (/^video\/(mp4|webm|ogg)$/.test(type)) return "video";
  if (documents.test(type) || /\.(docx|odt|xlsx|epub)$/i.test(name)) return "document";
  const isText =
    type.startsWith("text/") ||
    /^(application\/(json|xml|yaml|x-yaml|toml|javascript|sql|x-sh)|image\/svg\+xml)$/.test(type) ||
    (/^(application\/octet-stream)?$/.test(type) && code.test(name));
  return isText ? "text" : undefined;
}
