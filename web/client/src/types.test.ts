import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";
import type { z as z4 } from "zod/v4";
import type {
  BrowserTools,
  IChatOptions,
  IChatResult,
  IMessage,
  MintedToken,
  OracleEvent,
  OraclesProviderProps,
  UseAgActionOptions,
} from ".";

// What users write against. tsc checks these; running them proves nothing more.
describe("types", () => {
  it("a chat needs three options and takes no others than the known", () => {
    expectTypeOf<{
      oracleDid: string;
      sessionId: string;
      onPaymentRequiredError: (claimIds: string[]) => void;
    }>().toExtend<IChatOptions>();
    expectTypeOf<{ oracleDid: string; sessionId: string }>().not.toExtend<IChatOptions>();
    expectTypeOf<IChatOptions>().not.toHaveProperty("registerBrowserTools");
    expectTypeOf<IChatOptions["streamingMode"]>().toEqualTypeOf<
      "immediate" | "batched" | undefined
    >();
  });

  it("a chat's result has the fields of the contract and not the old ones", () => {
    expectTypeOf<IChatResult["status"]>().toEqualTypeOf<
      "submitted" | "streaming" | "ready" | "error"
    >();
    expectTypeOf<IChatResult["messages"]>().toEqualTypeOf<IMessage[]>();
    expectTypeOf<IChatResult["sendMessage"]>().toBeCallableWith("hello");
    expectTypeOf<IChatResult["abortStream"]>().returns.resolves.toBeVoid();
    expectTypeOf<IChatResult["error"]>().toEqualTypeOf<Error | undefined>();
    expectTypeOf<IChatResult>().not.toHaveProperty("isStreaming");
    expectTypeOf<IChatResult>().not.toHaveProperty("events");
  });

  it("an event's payload follows from its name", () => {
    const read = (event: OracleEvent) => {
      if (event.eventName === "router_update") {
        expectTypeOf(event.payload.step).toBeString();
      }
      if (event.eventName === "browser_tool_call") {
        expectTypeOf(event.payload.toolCallId).toBeString();
        // @ts-expect-error -- another event's field
        void event.payload.step;
      }
    };
    expectTypeOf(read).toBeFunction();
  });

  it("a provider needs the wallet, the signer and the delegation", () => {
    expectTypeOf<
      Pick<OraclesProviderProps, "initialWallet" | "transactSignX" | "createDelegation">
    >().toExtend<OraclesProviderProps>();
    expectTypeOf<
      Pick<OraclesProviderProps, "initialWallet" | "transactSignX">
    >().not.toExtend<OraclesProviderProps>();
    expectTypeOf<MintedToken["expiresAt"]>().toEqualTypeOf<number>();
  });

  it("schemas of zod 3 and of zod 4 are taken alike", () => {
    const schema = z.object({ n: z.number() });
    const tools = {
      double: {
        toolName: "double",
        description: "Doubles a number",
        schema,
        fn: async ({ n }: { n: number }) => 2 * n,
      },
    };
    expectTypeOf(tools).toExtend<BrowserTools>();
    expectTypeOf<z4.ZodObject<{ n: z4.ZodNumber }>>().toExtend<
      UseAgActionOptions<{ n: number }>["parameters"]
    >();
    expectTypeOf<typeof schema>().toExtend<UseAgActionOptions<{ n: number }>["parameters"]>();
  });
});
