// The documents that `castalia demo` loads too; only the page that offers them reads them.
const texts = import.meta.glob<string>("../../../../../internal/cli/knowcli/demo/*", {
  query: "?raw",
  import: "default",
});

/** The collection of the sample community, by the name that the command line gives it. */
// eslint-disable-next-line words/text -- it is found again by this name
export const sampleName = "Sample community";

const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);

export const sampleNames: ReadonlySet<string> = new Set(Object.keys(texts).map(nameOf));

const types: Record<string, string> = { csv: "text/csv", md: "text/markdown" };

export function sampleFiles(): Promise<File[]> {
  return Promise.all(
    Object.entries(texts).map(async ([path, read]) => {
      const name = nameOf(path);
      const type = types[name.split(".").at(-1) ?? ""] ?? "text/plain";
      return new File([await read()], name, { type });
    }),
  );
}
