// @vitest-environment jsdom
import { act, cleanup, renderHook, waitFor } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { page } from "../react/kit";
import { json } from "../testkit/oracle";
import { useQueryChain } from "./useQueryChain";

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const balances = "/cosmos/bank/v1beta1/balances/ixo1a";

function chain(queryGateway?: string) {
  const { oracle, Page } = page();
  const wrapper = ({ children }: { children?: React.ReactNode }) => (
    <Page {...(queryGateway ? { queryGateway } : {})}>{children}</Page>
  );
  return { oracle, wrapper };
}

test("asks a route of the gateway once for all, and again when it is told to", async () => {
  const { oracle, wrapper } = chain("http://chain.test/ixo/");
  let amount = 1;
  oracle.on("GET", /^\/ixo\/cosmos\/bank/, ({ path }) => json({ path, amount: amount++ }));
  const parameters = { denom: "uixo", deep: true, of: ["b", "a"], not: undefined };
  const { result } = renderHook(
    () =>
      [1, 2].map(() => useQueryChain<{ path: string; amount: number }>(balances, { parameters })),
    { wrapper },
  );
  await waitFor(() => expect(result.current[0]?.data?.amount).toBe(1));
  expect(result.current[1]?.data).toBe(result.current[0]?.data);
  expect(result.current[0]?.data?.path).toBe(`/ixo${balances}?deep=true&denom=uixo&of=b&of=a`);
  await act(() => result.current[0]?.refetch());
  expect(result.current[1]).toMatchObject({ data: { amount: 2 }, isLoading: false });
  expect(oracle.requests("GET", /bank/)).toHaveLength(2);
});

test("says what the gateway said, and asks nothing without a path or a gateway", async () => {
  const { oracle, wrapper } = chain("http://chain.test/ixo");
  oracle.on("GET", /^\/ixo\/cosmos/, () => json({ message: "account not found" }, 404));
  const known = renderHook(({ path }: { path: string | null }) => useQueryChain(path), {
    wrapper,
    initialProps: { path: null as string | null },
  });
  expect(known.result.current).toMatchObject({ data: undefined, isLoading: false });
  expect(oracle.seen).toEqual([]);
  known.rerender({ path: balances });
  await waitFor(() => expect(known.result.current.error?.message).toBe("account not found"));
  const none = renderHook(() => useQueryChain(balances), { wrapper: chain().wrapper });
  expect(none.result.current).toMatchObject({
    isLoading: false,
    error: { message: "The provider was given no queryGateway" },
  });
});
