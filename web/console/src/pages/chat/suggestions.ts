import type { IconName } from "../../shell/icons";

const chart = {
  title: "Litres drawn at the spring",
  labels: ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
  values: [420, 388, 512, 475, 610, 702, 655],
};

/** First questions that every oracle can answer, also the built-in guide. */
export const suggestions: { title: string; about: string; icon: IconName; text: string }[] = [
  {
    title: "What is Castalia?",
    about: "Quotes its own documentation",
    icon: "about",
    text: "What is Castalia?",
  },
  {
    title: "Draw a chart",
    about: "An action of this page",
    icon: "operator",
    text: `/tool show_chart ${JSON.stringify(chart)}`,
  },
  {
    title: "List my files",
    about: "With your permission only",
    icon: "files",
    text: "list my files",
  },
  {
    title: "Set the theme to dark",
    about: "A tool that runs in your browser",
    icon: "moon",
    text: "set the theme to dark",
  },
];
