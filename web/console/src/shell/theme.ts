import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark" | "auto";

export const themes: readonly Theme[] = ["auto", "light", "dark"];

const key = "castalia-theme";
const listeners = new Set<() => void>();

export function getTheme(): Theme {
  const value = document.documentElement.dataset["theme"];
  return value === "light" || value === "dark" ? value : "auto";
}

export function setTheme(theme: Theme): void {
  if (theme === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  localStorage.setItem(key, theme);
  for (const listener of listeners) listener();
}

/** Puts on the theme that was chosen last; before the first drawing, so that nothing flashes. */
export function restoreTheme(): void {
  const stored = localStorage.getItem(key);
  if (stored === "light" || stored === "dark") document.documentElement.dataset["theme"] = stored;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Light, dark, or as the system likes it. */
export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, getTheme);
}
