// The hooks that the conversation in main.tsx has no use for. The oracle is
// found by its entity, as the chain shows it.
import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";
import {
  OraclesProvider,
  useContractOracle,
  useGetOpenIdToken,
  useMemoryEngine,
  useModels,
  useOraclesConfig,
} from "@castalia/oracles-client";
import { host, mint } from "./host";

const gateway = `${host.server}/ixo`;
const matrix = new URLSearchParams(location.search).get("matrix") ?? "";

interface EntityList {
  entities: { id: string; type: string }[];
}

function Hooks({ entity }: { entity: string }) {
  const config = useOraclesConfig(entity);
  const { models, defaultModel } = useModels(entity);
  const memory = useMemoryEngine(entity);
  const { openIdToken } = useGetOpenIdToken();
  const contract = useContractOracle({
    params: {
      oracleDid: entity,
      userClaimCollectionId: "7",
      adminAddress: "ixo1admin",
      granteeAddress: "ixo1oracle",
      claimId: "c1",
    },
  });
  const [signed, setSigned] = useState("");
  const show = (result: Promise<unknown>) =>
    void result.then((made) => setSigned(JSON.stringify(made)));
  return (
    <>
      <p aria-label="Address">{config.apiUrl}</p>
      <p aria-label="Models">{models.map((m) => m.id).join(", ")}</p>
      <p aria-label="Default model">{defaultModel}</p>
      <p aria-label="OpenID token">{openIdToken?.access_token}</p>
      <ul aria-label="Memories">
        {memory.memories.map((one) => (
          <li key={one.id}>
            {one.text} <button onClick={() => void memory.forget(one.id)}>Forget</button>
          </li>
        ))}
      </ul>
      <button onClick={() => void memory.remember("I drink tea")}>Remember</button>
      <button onClick={() => show(contract.contractOracle())}>Contract</button>
      <button onClick={() => show(contract.payClaim())}>Pay</button>
      <output>{signed}</output>
    </>
  );
}

const { entities } = (await (await fetch(`${gateway}/entity`)).json()) as EntityList;
const entity = entities.find((one) => one.type === "oracle")?.id ?? "";

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <OraclesProvider
      initialWallet={{
        address: "example",
        did: host.userDid,
        matrix: { accessToken: matrix && "token", homeServer: matrix },
      }}
      transactSignX={async (messages) => messages}
      createDelegation={() => mint("delegation")}
      createInvocation={() => mint("invocation")}
      queryGateway={gateway}
    >
      <Hooks entity={entity} />
    </OraclesProvider>
  </StrictMode>,
);
