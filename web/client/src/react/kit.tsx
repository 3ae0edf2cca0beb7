import { configure } from "@testing-library/react";
import type { ReactNode } from "react";
import { vi } from "vitest";
import { FakeOracle } from "../testkit/oracle";
import type { OraclesProviderProps } from "./context";
import { OraclesProvider } from "./provider";
import type { IChatOptions } from "./useChat";

// A busy machine is slow, not wrong.
configure({ asyncUtilTimeout: 15_000 });

/** A page of a test: an oracle that lives in it and a provider around its components. */
export function page() {
  const oracle = new FakeOracle();
  vi.stubGlobal("fetch", oracle.fetch);
  let n = 0;
  const mint = vi.fn(async () => ({ serialized: `t${++n}`, expiresAt: Date.now() + 3_600_000 }));
  const transactSignX = vi.fn<OraclesProviderProps["transactSignX"]>(async () => "signed");
  const Page = ({ children, ...props }: Partial<OraclesProviderProps>) => (
    <OraclesProvider
      initialWallet={{
        address: "ixo1a",
        did: "did:ixo:ixo1a",
        matrix: { accessToken: "m", homeServer: "hs.test" },
      }}
      transactSignX={transactSignX}
      createDelegation={mint}
      {...props}
    >
      {children as ReactNode}
    </OraclesProvider>
  );
  return { oracle, mint, transactSignX, Page };
}

export const overrides = { baseUrl: "http://oracle.test", wsUrl: "ws://oracle.test" };

/** Options of a chat, new objects each time, as careless pages make them. */
export function chatOptions(more: Partial<IChatOptions> = {}): IChatOptions {
  return {
    oracleDid: "did:o",
    sessionId: "$s",
    onPaymentRequiredError: () => undefined,
    overrides: { ...overrides },
    ...more,
  };
}
