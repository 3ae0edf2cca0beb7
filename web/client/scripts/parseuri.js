// Stands in for the socket client's own reader of addresses in the bundle:
// browsers have one.
export function parse(source) {
  const { protocol, hostname, port, pathname, search, searchParams } = new globalThis.URL(source);
  return {
    source,
    protocol: protocol.slice(0, -1),
    host: hostname.replace(/[[\]]/g, ""),
    port,
    path: pathname,
    query: search.slice(1),
    queryKey: Object.fromEntries(searchParams),
  };
}
