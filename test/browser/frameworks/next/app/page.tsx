import { Oracle } from "./Oracle";

export const dynamic = "force-dynamic"; // drawn anew for each visitor

/** A component of the server. */
export default function Page() {
  return (
    <main>
      <h1>Ask</h1>
      <Oracle server={process.env["ORACLE"] ?? "http://127.0.0.1:3000"} />
    </main>
  );
}
