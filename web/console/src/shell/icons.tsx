import { iconPaths } from "@castalia/oracles-ui/parts";

const paths = {
  ...iconPaths,
  chat: "M4 5h16v11H9l-5 4z",
  files: "M4 6h6l2 2h8v11H4z",
  book: "M12 6c-2-1.5-5-2-8-2v14c3 0 6 .5 8 2 2-1.5 5-2 8-2V4c-3 0-6 .5-8 2zM12 6v14",
  telephone: "M8 3h8v18H8zM11 18h2",
  microphone: "M12 3a3 3 0 0 0-3 3v5a3 3 0 0 0 6 0V6a3 3 0 0 0-3-3zM6 11a6 6 0 0 0 12 0M12 17v4",
  muted: "M9 9v2a3 3 0 0 0 5 2.2M15 11V6a3 3 0 0 0-5.8-1M6 11a6 6 0 0 0 9.5 4.9M12 17v4M4 4l16 16",
  camera: "M3 7h12v10H3zM15 11l6-3v8l-6-3z",
  uncamera: "M7 7h8v8M15 11l6-3v8M3 7v10h12M4 4l16 16",
  query: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l5 5",
  operator: "M4 19V9M10 19V5M16 19v-7M21 19H3",
  about: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 11v6M12 7.5v.5",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M19 5l-2 2M7 17l-2 2",
  moon: "M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5z",
  auto: "M12 3a9 9 0 1 0 0 18zM12 3v18a9 9 0 0 0 0-18z",
  upload: "M12 16V4M7 9l5-5 5 5M4 20h16",
  download: "M12 4v12M7 11l5 5 5-5M4 20h16",
  clock: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7v5l3 3",
  share: "M6 12a2 2 0 1 0 0 .1M18 6a2 2 0 1 0 0 .1M18 18a2 2 0 1 0 0 .1M8 11l8-4M8 13l8 4",
  link: "M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-5.7-5.7L12 7M14 10a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 5.7 5.7L12 17",
  folder: "M3 6h6l2 2.5h10V19H3z",
  lock: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
  coin: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM9 9.5h6M9 13.5h6M12 7v10",
  keyboard: "M3 7h18v11H3zM7 11h.01M11 11h.01M15 11h.01M8 15h8",
  pulse: "M3 12h4l3-7 4 14 3-7h4",
  plug: "M9 3v5M15 3v5M7 8h10v4a5 5 0 0 1-10 0zM12 17v4",
  graph: "M4 5h5v4H4zM15 10h5v4h-5zM4 15h5v4H4zM9 7l6 5M9 17l6-5",
  people:
    "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3 20c0-4 3-6 6-6s6 2 6 6M16 4.5a3.5 3.5 0 0 1 0 6M18 14.5c2 .7 3 2.7 3 5.5",
  video: "M4 6h11v12H4zM15 10l5-3v10l-5-3z",
} as const;

export type IconName = keyof typeof paths;

/** What points along a line points the other way where lines run the other way. */
const along = new Set<IconName>(["back", "next", "send"]);

/** A drawing that says the same as the text beside it. */
export function Icon({ name }: { name: IconName }) {
  const classes = along.has(name) ? "icon castalia-along" : "icon";
  return (
    <svg className={classes} viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}
