// @vitest-environment jsdom
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { LanguageMenu } from "./LanguageMenu";

afterEach(cleanup);

const english = { code: "en", name: "English", direction: "ltr", reviewed: "somebody" } as const;
const arabic = { code: "ar", name: "العربية", direction: "rtl", reviewed: "" } as const;

test("every language stands by its own name, a draft as such, and is chosen", () => {
  const choose = vi.fn();
  render(<LanguageMenu offered={[english, arabic]} onChoose={choose} />);
  const menu = screen.getByLabelText<HTMLSelectElement>("Language");
  expect(menu.value).toBe("en");
  expect([...menu.options].map((o) => [o.lang, o.text])).toEqual([
    ["en", "English"],
    ["ar", "العربية (draft)"],
  ]);
  fireEvent.change(menu, { target: { value: "ar" } });
  expect(choose).toHaveBeenCalledWith("ar");
});

test("one language is no choice", () => {
  const { container } = render(<LanguageMenu offered={[english]} />);
  expect(container.innerHTML).toBe("");
});
