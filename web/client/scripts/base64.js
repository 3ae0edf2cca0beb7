// Stands in for the socket client's own base64 in the bundle: browsers have one.
export const decode = (text) =>
  Uint8Array.from(globalThis.atob(text), (c) => c.charCodeAt(0)).buffer;
