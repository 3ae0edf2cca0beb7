import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";
import type { z as z4 } from "zod/v4";
import { defineTool, useAgAction, type useChat } from ".";
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

  it("tools take what their schema says, and their calls are read as they were declared", () => {
    const double = defineTool({
      toolName: "double",
      description: "Doubles a number",
      schema: z.object({ n: z.number(), unit: z.string().default("m") }),
      fn: async ({ n, unit }) => {
        expectTypeOf(n).toBeNumber();
        return { twice: 2 * n, unit };
      },
    });
    const standard = {} as {
      "~standard": {
        validate(value: unknown): { value: { word: string } } | { issues: { message: string }[] };
      };
    };
    const spell = defineTool({
      toolName: "spell",
      description: "Spells a word",
      schema: standard,
      fn: ({ word }) => [...word],
    });
    const plain = defineTool({
      toolName: "plain",
      description: "",
      schema: { type: "object" },
      fn: (args) => Object.keys(args),
    });
    expectTypeOf(plain).toExtend<BrowserTools[string]>();
    const tools = { double, spell };
    expectTypeOf(tools).toExtend<BrowserTools>();
    type Chat = ReturnType<typeof useChat<typeof tools>>;
    const read = ({ readCall }: Chat, call: IMessage["toolCalls"] & object) => {
      const [one] = call;
      if (!one) return;
      expectTypeOf(readCall("double", one)?.args.n).toEqualTypeOf<number | undefined>();
      expectTypeOf(readCall("double", one)?.output?.twice).toEqualTypeOf<number | undefined>();
      expectTypeOf(readCall("spell", one)?.output).toEqualTypeOf<string[] | undefined>();
      // @ts-expect-error -- no such tool
      readCall("halve", one);
    };
    expectTypeOf(read).toBeFunction();
  });

  it("an action is drawn with what its schema says and its handler answers", () => {
    const Page = (four: z4.ZodObject<{ n: z4.ZodNumber }>) => {
      useAgAction({
        name: "double",
        description: "Doubles a number",
        parameters: z.object({ n: z.number() }),
        handler: async ({ n }) => ({ twice: 2 * n }),
        render: ({ args, result }) => {
          expectTypeOf(args.n).toBeNumber();
          expectTypeOf(result).toEqualTypeOf<{ twice: number } | undefined>();
          return result?.twice;
        },
      });
      useAgAction({
        name: "spell",
        description: "",
        parameters: four,
        handler: async ({ n }) => String(n),
        render: ({ result }) => {
          expectTypeOf(result).toEqualTypeOf<string | undefined>();
          return result;
        },
      });
    };
    expectTypeOf(Page).toBeFunction();
    // Who says what the handler takes need not say what it answers.
    expectTypeOf<UseAgActionOptions<{ n: number }>["handler"]>().returns.resolves.toBeUnknown();
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
