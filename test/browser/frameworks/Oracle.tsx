"use client";
import { OraclesProvider, useChat, useOracleSessions, type OraclesProviderProps } from "@castalia/oracles-client";
import { useAttachments } from "@castalia/oracles-client/attachments";
import { createBrowserWallet, type Wallet } from "@castalia/oracles-client/wallet";
import { Composer, Thread } from "@castalia/oracles-ui";
import { Component, lazy, StrictMode, Suspense, useEffect, useState, type ReactNode } from "react";

/** A chat as the guide has it, in a page that a server draws first: without a wallet, which browsers have. */
export function Oracle({ server }: { server: string }) {
  const [wallet, setWallet] = useState<Wallet>();
  const [isBroken, setBroken] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const open = (): Promise<void> =>
      createBrowserWallet({ server }).then(setWallet, () => void (timer = setTimeout(open, 1000)));
    void open();
    return () => clearTimeout(timer);
  }, [server]);
  return (
    <StrictMode>
      <button onClick={() => setBroken(true)}>Break</button>
      <Caught>{isBroken && <Orphan />}</Caught>
      <OraclesProvider key={wallet?.oracleDid ?? ""} {...(wallet?.provider ?? nobody)}>
        {wallet ? <Conversation server={server} wallet={wallet} /> : <Empty server={server} />}
      </OraclesProvider>
    </StrictMode>
  );
}

const never = () => new Promise<never>(() => undefined);
const nobody: OraclesProviderProps = {
  initialWallet: { address: "", did: "did:key:nobody", matrix: { accessToken: "", homeServer: "" } },
  transactSignX: never,
  createDelegation: never,
  children: null,
};

/** The hooks and the components, where there is nothing to read yet: servers draw this. */
function Empty({ server }: { server: string }) {
  const at = { oracleDid: "did:key:none", overrides: { baseUrl: server }, sessionId: "none" };
  const chat = useChat({ ...at, onPaymentRequiredError() {} });
  return (
    <>
      <p role="status">Opening {chat.status}</p>
      <Thread chat={{ ...chat, isLoading: false }} />
    </>
  );
}

/** Comes when it is needed. */
const Note = lazy(() => Promise.resolve({ default: () => <p>A piece that came later</p> }));

function Conversation({ server, wallet }: { server: string; wallet: Wallet }) {
  const { oracleDid, fileToken, grant } = wallet;
  const overrides = { baseUrl: server };
  const { sessions, createSession, isLoading } = useOracleSessions(oracleDid, overrides);
  const [begun, setBegun] = useState("");
  const sessionId = begun || sessions[0]?.sessionId;
  const begin = () => createSession().then((made) => setBegun(made.sessionId), () => undefined);
  const attachments = useAttachments({ oracleDid, overrides, fileToken, grant });
  if (!sessionId) {
    return (
      <button disabled={isLoading} onClick={() => void begin()}>
        Begin
      </button>
    );
  }
  return (
    <Suspense fallback={<p>Loading</p>}>
      <Note />
      <Chat {...{ oracleDid, overrides, sessionId, attachments }} />
    </Suspense>
  );
}

function Chat(props: {
  oracleDid: string;
  overrides: { baseUrl: string };
  sessionId: string;
  attachments: ReturnType<typeof useAttachments>;
}) {
  const { attachments, ...at } = props;
  const chat = useChat({ ...at, onPaymentRequiredError() {} });
  return (
    <div style={{ height: "70vh", display: "grid", gridTemplateRows: "minmax(0, 1fr) auto" }}>
      <Thread chat={chat} />
      <Composer chat={chat} attachments={attachments} />
    </div>
  );
}

/** A hook where there is no provider. */
function Orphan() {
  useChat({ oracleDid: "x", sessionId: "x", onPaymentRequiredError() {} });
  return null;
}

class Caught extends Component<{ children: ReactNode }, { said?: string }> {
  override state: { said?: string } = {};
  static getDerivedStateFromError = (cause: Error) => ({ said: cause.message });
  override render() {
    return this.state.said === undefined ? this.props.children : <p>Caught: {this.state.said}</p>;
  }
}
