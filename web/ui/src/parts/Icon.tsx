/** Drawings of 24 by 24, each one line. */
export const iconPaths = {
  call: "M5 4h4l2 5-2.5 1.5a11 11 0 0 0 5 5L15 13l5 2v4a1 1 0 0 1-1 1A15 15 0 0 1 4 5a1 1 0 0 1 1-1z",
  hangup: "M3 15v-3c5-5 13-5 18 0v3l-5-1v-3a12 12 0 0 0-8 0v3z",
  shield: "M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6zM9 12l2 2 4-4",
  send: "M4 12l16-8-6 16-3-6z",
  stop: "M7 7h10v10H7z",
  plus: "M12 5v14M5 12h14",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  copy: "M9 9h10v11H9zM5 15V4h10",
  back: "M15 5l-7 7 7 7",
  next: "M9 5l7 7-7 7",
  pencil: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  good: "M7 11v9H4v-9zM7 11l4-7c2 0 2.5 1.5 2 3l-.7 3H19l-1.5 8.5c-.2 1-.8 1.5-1.8 1.5H7",
  bad: "M7 13V4H4v9zM7 13l4 7c2 0 2.5-1.5 2-3l-.7-3H19l-1.5-8.5C17.3 4.5 16.7 4 15.7 4H7",
  down: "M12 5v14M6 13l6 6 6-6",
  close: "M6 6l12 12M18 6L6 18",
  clip: "M20 11l-8.5 8.5a5 5 0 0 1-7-7L13 4a3.3 3.3 0 0 1 4.7 4.7l-8.4 8.4a1.6 1.6 0 0 1-2.3-2.3L14.5 7.3",
  file: "M6 3h8l5 5v13H6zM14 3v5h5",
  image: "M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M9 9h.01",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.5 15.5L21 21",
  check: "M5 12.5l4.5 4.5L19 7",
  restore: "M4 12a8 8 0 1 0 2.5-5.8M4 4v4h4",
} as const;

export type IconName = keyof typeof iconPaths;

/** What points along a line points the other way where lines run the other way. */
const along = new Set<IconName>(["send", "back", "next"]);

/** A drawing that says the same as the text beside it. */
export function Icon({ name }: { name: IconName }) {
  const classes = along.has(name) ? "castalia-icon castalia-along" : "castalia-icon";
  return (
    <svg className={classes} viewBox="0 0 24 24" aria-hidden="true">
      <path d={iconPaths[name]} />
    </svg>
  );
}
