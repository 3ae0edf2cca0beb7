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
  const { mutate, isPending, error, reset } = useMutation({
    mutationFn: async (work: () => unknown) => await work(),
    onSuccess: again,
    onError: () => void again(),
  });
  return { run: mutate, isBusy: isPending, error: error ? messageOf(error) : "", forget: reset };
}
