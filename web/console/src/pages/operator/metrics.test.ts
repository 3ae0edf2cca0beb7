import { expect, test } from "vitest";
import { chosenMetrics, parseMetrics } from "./metrics";

test("figures are summed over their labels", () => {
  const all = parseMetrics(
    '# HELP x y\ncastalia_http_requests_total{code="200",path="/a"} 3\n' +
      'castalia_http_requests_total{code="404"} 2\nprocess_resident_memory_bytes 1.048576e+06\nodd NaN\n',
  );
  expect(all.get("castalia_http_requests_total")).toBe(5);
  expect(all.has("odd")).toBe(false);
  expect(chosenMetrics(all).map((m) => m.value)).toEqual([5, 1]);
});
