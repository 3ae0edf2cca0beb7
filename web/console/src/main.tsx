import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
// The common rules come first, so that a page's own win.
import "@castalia/oracles-ui/styles.css";
import "./shell/styles.css";
import "./shell/parts.css";
import "./shell/shared.css";
import { App } from "./App";
import { restoreTheme } from "./shell/theme";

restoreTheme();
const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
