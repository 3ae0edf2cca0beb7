import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

/**
 * What a page has asked the server, for as long as the page is open: nothing of it outlives the
 * page, nor the key that it was asked with. A question is asked once, and its failure shown.
 */
export function Asking({ children }: { children: ReactNode }) {
  const [queries] = useState(
    () =>
      new QueryClient({
        defaultOptions: {
          // A browser without internet may well reach a server in its own network.
          queries: { retry: false, gcTime: 0, networkMode: "always", refetchOnReconnect: true },
          mutations: { networkMode: "always" },
        },
      }),
  );
  return <QueryClientProvider client={queries}>{children}</QueryClientProvider>;
}
