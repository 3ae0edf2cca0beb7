// A page with CopilotKit's own chat, whose agent is the oracle by AG-UI: with a tool of the page's and a question before the oracle acts.
import { HttpAgent } from "@ag-ui/client";
import { CopilotChat, CopilotKitProvider, useFrontendTool, useInterrupt } from "@copilotkit/react-core/v2";
import { useState } from "react";
import { createRoot } from "react-dom/client";
import { z } from "zod";

const { url, key, id } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const oracle = new HttpAgent({ url: `${url}/ag-ui`, headers: { authorization: `Bearer ${key}` } });

function Chat() {
  const [asked, setAsked] = useState("");
  useFrontendTool({
    name: "get_weather",
    description: "The weather of a place.",
    parameters: z.object({ place: z.string() }),
    handler: async ({ place }) => {
      setAsked(place);
      return `sunny in ${place}`;
    },
  });
  useInterrupt({
    render: ({ interrupt, resolve }) => (
      <div>
        <p>{interrupt.message}</p>
        <button onClick={() => resolve({ approved: true })}>Approve</button>
        <button onClick={() => resolve({ approved: false })}>Deny</button>
      </div>
    ),
  });
  return (
    <>
      <p id="asked">{asked}</p>
      <CopilotChat threadId={id} />
    </>
  );
}

createRoot(document.getElementById("root")).render(
  <CopilotKitProvider selfManagedAgents={{ default: oracle }} enableInspector={false}>
    <Chat />
  </CopilotKitProvider>,
);
