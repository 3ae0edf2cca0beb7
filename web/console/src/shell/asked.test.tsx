// @vitest-environment jsdom
import { act, cleanup, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { once, useAsked, useDoing } from "./asked";
import { Asking } from "./Asking";
import { Problem } from "./Problem";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

const pass = (ms: number) => act(() => vi.advanceTimersByTimeAsync(ms));

function List(props: { ask: () => Promise<string>; work?: () => Promise<void> }) {
  const { data, error } = useAsked({
    queryKey: ["list"],
    queryFn: props.ask,
    refetchInterval: 1000,
  });
  const { run, isBusy, error: refusal } = useDoing(["list"]);
  return (
    <>
      <Problem error={refusal || error} />
      <p>{data ?? "nothing"}</p>
      <button type="button" disabled={isBusy} onClick={() => props.work && run(props.work)} />
    </>
  );
}

test("an alert stays while the question is asked again, and goes with the answer", async () => {
  let answer: (text: string) => void = () => undefined;
  const ask = vi
    .fn<() => Promise<string>>()
    .mockRejectedValueOnce(new Error("away"))
    .mockImplementationOnce(() => new Promise((resolve) => (answer = resolve)));
  render(<List ask={ask} />, { wrapper: Asking });
  await pass(0);
  const alert = screen.getByRole("alert");
  expect(alert.textContent).toBe("away");
  await pass(1001);
  expect(ask).toHaveBeenCalledTimes(2);
  expect(screen.getByRole("alert")).toBe(alert);
  await act(async () => answer("here"));
  await pass(0);
  expect(screen.queryByRole("alert")).toBeNull();
  expect(screen.getByText("here")).toBeTruthy();
});

test("what was answered stays in sight under an alert", async () => {
  const ask = vi
    .fn<() => Promise<string>>()
    .mockResolvedValueOnce("first")
    .mockRejectedValueOnce(new Error("away"))
    .mockResolvedValue("second");
  render(<List ask={ask} />, { wrapper: Asking });
  await pass(0);
  await pass(1001);
  expect(screen.getByRole("alert").textContent).toBe("away");
  expect(screen.getByText("first")).toBeTruthy();
  await pass(1001);
  expect(screen.queryByRole("alert")).toBeNull();
  expect(screen.getByText("second")).toBeTruthy();
});

test("nobody is asked while the page is out of sight", async () => {
  const sight = vi.spyOn(document, "visibilityState", "get").mockReturnValue("hidden");
  const ask = vi.fn(() => Promise.resolve("here"));
  render(<List ask={ask} />, { wrapper: Asking });
  await pass(5000);
  expect(ask).toHaveBeenCalledTimes(1);
  sight.mockReturnValue("visible");
  document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
  await pass(0);
  expect(ask).toHaveBeenCalledTimes(2);
  sight.mockRestore();
});

test.each([
  ["done", () => Promise.resolve(), ""],
  ["half done", () => Promise.reject(new Error("refused")), "refused"],
])("what was %s is asked for again", async (_, work, said) => {
  const ask = vi.fn(() => Promise.resolve("here"));
  render(<List ask={ask} work={work} />, { wrapper: Asking });
  await pass(0);
  screen.getByRole("button").click();
  await pass(0);
  expect(ask).toHaveBeenCalledTimes(2);
  expect(screen.queryByRole("alert")?.textContent ?? "").toBe(said);
  expect(screen.getByRole("button").hasAttribute("disabled")).toBe(false);
});

test("what is done by asking is not done again when the window is looked at", async () => {
  const ask = vi.fn(() => Promise.reject(new Error("used up")));
  function Redeem() {
    return <Problem error={useAsked({ queryKey: ["redeem"], queryFn: ask, ...once }).error} />;
  }
  render(<Redeem />, { wrapper: Asking });
  await pass(0);
  expect(screen.getByRole("alert").textContent).toBe("used up");
  document.dispatchEvent(new Event("visibilitychange"));
  window.dispatchEvent(new Event("online"));
  await pass(0);
  expect(ask).toHaveBeenCalledTimes(1);
});

test("a failure is told also when the next thing was begun before it", async () => {
  let fail: (cause: Error) => void = () => undefined;
  const works = [() => new Promise<void>((_, reject) => (fail = reject)), () => Promise.resolve()];
  function Two() {
    const { run, error } = useDoing();
    return (
      <>
        <Problem error={error} />
        <button type="button" onClick={() => works.forEach((work) => run(work))} />
      </>
    );
  }
  render(<Two />, { wrapper: Asking });
  screen.getByRole("button").click();
  await pass(0);
  await act(async () => fail(new Error("refused")));
  await pass(0);
  expect(screen.getByRole("alert").textContent).toBe("refused");
});
