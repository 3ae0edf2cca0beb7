import { version } from "@castalia/oracles-client";

/** The frame around all pages. */
export function App() {
  return <main>Castalia {version}</main>;
}
