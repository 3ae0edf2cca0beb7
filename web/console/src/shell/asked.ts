import {
  useMutation,
  useQuery,
  useQueryClient,
  type DefaultError,
  type QueryKey,
  type UseQueryOptions,
} from "@tanstack/react-query";
import { useState } from "react";
import { messageOf } from "./format";

export interface Asked<T> {
  data: T | undefined;
  /** Why the last answer did not come. What was answered before stays in sight. */
  error: string;
  again: () => Promise<unknown>;
}

/** For what is done or counted by asking: nobody asks again but the person, also after a failure. */
export const once = {
  staleTime: Infinity,
  refetchOnWindowFocus: false,
  refetchOnReconnect: false,
} as const;

/** Asks the server, and says how that went. */
export function useAsked<T>(options: UseQueryOptions<T, DefaultError, T, QueryKey>): Asked<T> {
  const { data, error, isFetching, refetch } = useQuery(options);
  // An alert stays until there is an answer: one that comes and goes is read out every time.
  const [last, setLast] = useState({ key: "", error: "" });
  const key = JSON.stringify(options.queryKey);
  const failed = error ? messageOf(error) : "";
  const isAskedAgain = isFetching && data === undefined && last.key === key;
  const kept = failed === "" && isAskedAgain ? last.error : failed;
  if (last.key !== key || last.error !== kept) setLast({ key, error: kept });
  return { data, error: kept, again: refetch };
}

/**
 * Does something, and says how that goes. What begins with a key is asked for again then, [] being
 * all that the page shows; after a failure too, for half of it may have been done.
 */
export function useDoing(key?: QueryKey) {
  const queries = useQueryClient();
  const again = async () => key && queries.invalidateQueries({ queryKey: key });
  // Kept here: the library forgets what failed when the next thing was begun before that.
  const [error, setError] = useState("");
  const { mutate, isPending, reset } = useMutation({
    mutationFn: async (work: () => unknown) => await work(),
    onMutate: () => setError(""),
    onSuccess: again,
    onError: (cause) => {
      setError(messageOf(cause));
      void again();
    },
  });
  const forget = () => {
    setError("");
    reset();
  };
  return { run: mutate, isBusy: isPending, error, forget };
}
