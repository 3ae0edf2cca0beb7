import { memo, type ReactNode } from "react";

/**
 * The Markdown that answers use: headings, lists, code, emphasis, links. Text is
 * turned into elements, never into markup, so nothing in it can run.
 */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return <div className="markdown">{blocks(text)}</div>;
});

function blocks(text: string): ReactNode[] {
  const out: ReactNode[] = [];
  const lines = text.split("\n");
  for (let i = 0; i < lines.length;) {
    const line = lines[i] ?? "";
    const key = out.length;
    if (line.startsWith("```")) {
      const from = ++i;
      while (i < lines.length && !lines[i]?.startsWith("```")) i++;
      out.push(
        <pre key={key} className="code">
          <code>{lines.slice(from, i++).join("\n")}</code>
        </pre>,
      );
      continue;
    }
    const heading = /^#{1,6}\s+(.*)$/.exec(line);
    if (heading) {
      out.push(<h3 key={key}>{inline(heading[1] ?? "")}</h3>);
      i++;
      continue;
    }
    const bullet = /^\s*([-*]|\d+[.)])\s+/;
    if (bullet.test(line)) {
      const ordered = /^\s*\d/.test(line);
      const items: string[] = [];
      for (; i < lines.length && bullet.test(lines[i] ?? ""); i++) {
        items.push((lines[i] ?? "").replace(bullet, ""));
      }
      const nodes = items.map((item, n) => <li key={n}>{inline(item)}</li>);
      out.push(ordered ? <ol key={key}>{nodes}</ol> : <ul key={key}>{nodes}</ul>);
      continue;
    }
    if (line.trim() === "") {
      i++;
      continue;
    }
    const from = i;
    while (
      i < lines.length &&
      (lines[i] ?? "").trim() !== "" &&
      !/^(```|#{1,6}\s)/.test(lines[i] ?? "") &&
      (i === from || !bullet.test(lines[i] ?? ""))
    )
      i++;
    out.push(<p key={key}>{inline(lines.slice(from, i).join("\n"))}</p>);
  }
  return out;
}

const span =
  /(`[^`\n]+`)|(\*\*[^*\n]+\*\*)|(\*[^*\n]+\*)|\[([^\]\n]+)\]\((https?:\/\/[^\s)]+|\/[^\s)]*)\)/g;

function inline(text: string): ReactNode[] {
  const out: ReactNode[] = [];
  let last = 0;
  for (const match of text.matchAll(span)) {
    if (match.index > last) out.push(text.slice(last, match.index));
    last = match.index + match[0].length;
    const key = match.index;
    if (match[1]) out.push(<code key={key}>{match[1].slice(1, -1)}</code>);
    else if (match[2]) out.push(<strong key={key}>{match[2].slice(2, -2)}</strong>);
    else if (match[3]) out.push(<em key={key}>{match[3].slice(1, -1)}</em>);
    else
      out.push(
        <a key={key} href={match[5]} target="_blank" rel="noreferrer noopener">
          {match[4]}
        </a>,
      );
  }
  if (last < text.length) out.push(text.slice(last));
  return out;
}
