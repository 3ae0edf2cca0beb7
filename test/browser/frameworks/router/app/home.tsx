import { useLoaderData } from "react-router";
import { Oracle } from "./Oracle";

export const loader = () => ({ server: process.env["ORACLE"] ?? "http://127.0.0.1:3000" });

export default function Home() {
  const { server } = useLoaderData<typeof loader>();
  return (
    <main>
      <h1>Ask</h1>
      <Oracle server={server} />
    </main>
  );
}
