import { useEffect, useRef, type ReactNode } from "react";
import { useFeatures } from "./features";
import { Icon, type IconName } from "./icons";
import { Link } from "./Link";
import { setTheme, useTheme, type Theme } from "./theme";
import { say, type Key } from "../words";

export interface PageInfo {
  path: string;
  title: Key;
  icon: IconName;
}

const nextTheme: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };
const themeIcon: Record<Theme, IconName> = { auto: "auto", light: "sun", dark: "moon" };

/** The frame around every page: where you are, where you can go, who you are. */
export function Shell(props: {
  pages: PageInfo[];
  current: string;
  onHelp: () => void;
  children: ReactNode;
}) {
  const theme = useTheme();
  const { name } = useFeatures();
  const nav = useRef<HTMLElement>(null);
  const { current } = props;
  // A narrow window does not show all pages at once.
  useEffect(() => {
    const link = nav.current?.querySelector("[aria-current]");
    link?.scrollIntoView({ inline: "center", block: "nearest" });
  }, [current]);
  const title = props.pages.find((page) => page.path === props.current)?.title;
  useEffect(() => {
    document.title = title ? `${say(title)} · ${name}` : name;
  }, [title, name]);
  return (
    <div className="shell">
      <a className="skip" href="#main">
        {say("shell.skip")}
      </a>
      <header className="bar">
        <Link to="" className="brand">
          <Mark />{" "}
          <span className="brand-name" dir="auto">
            {name}
          </span>
        </Link>
        <nav ref={nav} aria-label={say("shell.pages")}>
          {props.pages.map((page) => (
            <Link key={page.path} to={page.path} current={props.current === page.path}>
              <Icon name={page.icon} />
              <span>{say(page.title)}</span>
            </Link>
          ))}
        </nav>
        <div className="bar-end">
          <button
            type="button"
            className="quiet wide-only"
            onClick={props.onHelp}
            aria-label={say("shell.shortcuts")}
            title={say("shell.shortcutsKey")}
          >
            <Icon name="keyboard" />
          </button>
          <button
            type="button"
            className="quiet"
            onClick={() => setTheme(nextTheme[theme])}
            aria-label={say("shell.changeTheme", { theme })}
            title={say("shell.themeIs", { theme })}
          >
            <Icon name={themeIcon[theme]} />
          </button>
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        {props.children}
      </main>
    </div>
  );
}

/** The spring. */
export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true">
      <path d="M16 3c5 7 8 11 8 15a8 8 0 0 1-16 0c0-4 3-8 8-15z" />
      <path d="M11.5 18.5a4.5 4.5 0 0 0 4.5 4.5" className="mark-light" />
    </svg>
  );
}
