// @vitest-environment jsdom
import { render } from "@testing-library/react";
import { version } from "react";
import { version as drawn } from "react-dom";
import { expect, it } from "vitest";

// Both suites would pass on one React if the aliases of the older one failed.
it("runs on the React that its project names", () => {
  const { container } = render(<p>{version}</p>);
  expect(container.textContent?.split(".")[0]).toBe(process.env.REACT_MAJOR);
  expect(drawn).toBe(version);
});
