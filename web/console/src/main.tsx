import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
// The common rules come first, so that a page's own win.
import "@castalia/oracles-ui/styles.css";
import "./shell/styles.css";
import "./shell/parts.css";
import "./shell/shared.css";
import { LabelsProvider } from "@castalia/oracles-ui";
import { App } from "./App";
import { restoreTheme } from "./shell/theme";
import { labelsNow, startWords } from "./words";

restoreTheme();
void startWords().then(() => {
  const root = document.getElementById("root");
  if (!root) return;
  createRoot(root).render(
    <StrictMode>
      <LabelsProvider labels={labelsNow()}>
        <App />
      </LabelsProvider>
    </StrictMode>,
  );
});
