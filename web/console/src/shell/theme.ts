import { useEffect, useState } from "react";

export type Theme = "light" | "dark" | "auto";

const key = "castalia-theme";

function stored(): Theme {
  const value = localStorage.getItem(key);
  return value === "light" || value === "dark" ? value : "auto";
}

/** Light, dark, or as the system likes it. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, set] = useState(stored);
  useEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
    localStorage.setItem(key, theme);
  }, [theme]);
  return [theme, set];
}
