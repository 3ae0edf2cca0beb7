import { OraclesProvider } from "@castalia/oracles-client";
import { createBrowserWallet } from "@castalia/oracles-client/wallet";
import "@castalia/oracles-ui/styles.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import "./app.css";

/** Where the oracle is: VITE_ORACLE=https://oracle.example in the environment or in .env. */
const server = import.meta.env["VITE_ORACLE"] ?? "http://127.0.0.1:3000";
const root = createRoot(document.getElementById("root") as HTMLElement);

// The user's key is made in this browser when the page first opens, and stays there.
function start() {
  createBrowserWallet({ server }).then(
    (wallet) =>
      root.render(
        <StrictMode>
          <OraclesProvider {...wallet.provider}>
            <App server={server} wallet={wallet} />
          </OraclesProvider>
        </StrictMode>,
      ),
    (cause: Error) => {
      root.render(
        <p role="alert">
          The oracle at {server} does not answer ({cause.message}). Trying again…
        </p>,
      );
      setTimeout(start, 2000);
    },
  );
}
start();
