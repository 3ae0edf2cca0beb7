/** What is shown of a table at once. */
export const mostRows = 500;
export const mostColumns = 40;

/** The sign between the columns: the one that the first line has most of. */
function separatorOf(text: string): string {
  const first = text.slice(0, text.search(/\r?\n|$/));
  const counted = [",", ";", "\t"].map((sign) => ({ sign, n: first.split(sign).length }));
  return counted.reduce((a, b) => (b.n > a.n ? b : a)).sign;
}

export interface Table {
  rows: string[][];
  /** Whether there are more rows or columns. */
  isCut: boolean;
}

/** Reads comma-separated values (RFC 4180, and its relatives), as much as is shown at once. */
export function readTable(text: string): Table {
  const separator = separatorOf(text);
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let isQuoted = false;
  let isCut = false;
  const endCell = () => {
    if (row.length < mostColumns) row.push(cell);
    else isCut = true;
    cell = "";
  };
  for (let i = 0; i < text.length; i++) {
    const sign = text[i] ?? "";
    if (isQuoted) {
      if (sign !== '"') cell += sign;
      else if (text[i + 1] === '"') {
        cell += '"';
        i++;
      } else isQuoted = false;
    } else if (sign === '"' && cell === "") isQuoted = true;
    else if (sign === separator) endCell();
    else if (sign === "\n") {
      endCell();
      rows.push(row);
      row = [];
      if (rows.length >= mostRows) return { rows, isCut: isCut || i + 1 < text.length };
    } else if (sign !== "\r" || text[i + 1] !== "\n") cell += sign;
  }
  if (cell !== "" || row.length > 0) {
    endCell();
    rows.push(row);
  }
  return { rows, isCut };
}
