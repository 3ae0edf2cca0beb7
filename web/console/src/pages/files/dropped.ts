/** A file with the path that it had in what was dropped. */
export interface Dropped {
  path: string;
  file: File;
}

/** Files and whole folders that were dropped on the page; onEmpty hears of folders that hold nothing. */
export async function droppedFiles(
  transfer: DataTransfer,
  onEmpty: (path: string) => void = () => undefined,
): Promise<Dropped[]> {
  // The items are gone after the first wait, so all are taken at once.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry());
  const plain = [...transfer.files].map((file) => ({ path: file.name, file }));
  if (!entries.some((e) => e?.isDirectory)) return plain;
  const found = await Promise.all(entries.map((e) => (e ? below(e, "", onEmpty) : [])));
  return found.flat();
}

/** Files of a folder that was chosen by a button. */
export function chosenFiles(files: Iterable<File>): Dropped[] {
  return [...files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}

async function below(
  entry: FileSystemEntry,
  prefix: string,
  onEmpty: (path: string) => void,
): Promise<Dropped[]> {
  const path = prefix + entry.name;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) =>
      (entry as FileSystemFileEntry).file(resolve, reject),
    );
    return [{ path, file }];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const out: Dropped[] = [];
  for (let isFirst = true; ; isFirst = false) {
    // A reader gives a hundred at a time, and nothing when it is done.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) {
      if (isFirst) onEmpty(path);
      return out;
    }
    for (const inner of some) out.push(...(await below(inner, `${path}/`, onEmpty)));
  }
}
