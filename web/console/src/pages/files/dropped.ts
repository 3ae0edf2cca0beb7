/** A file with the path that it had in what was dropped. */
export interface Dropped {
  path: string;
  file: File;
}

/** Files and whole folders that were dropped on the page. */
export async function droppedFiles(transfer: DataTransfer): Promise<Dropped[]> {
  // The items are gone after the first wait, so all are taken at once.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry());
  const plain = [...transfer.files].map((file) => ({ path: file.name, file }));
  if (!entries.some((e) => e?.isDirectory)) return plain;
  const found = await Promise.all(entries.map((e) => (e ? below(e, "") : [])));
  return found.flat();
}

async function below(entry: FileSystemEntry, prefix: string): Promise<Dropped[]> {
  const path = prefix + entry.name;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) =>
      (entry as FileSystemFileEntry).file(resolve, reject),
    );
    return [{ path, file }];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const out: Dropped[] = [];
  for (;;) {
    // A reader gives a hundred at a time, and nothing when it is done.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) return out;
    for (const inner of some) out.push(...(await below(inner, `${path}/`)));
  }
}
