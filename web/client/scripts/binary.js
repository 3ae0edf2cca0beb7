// Stands in for the socket client's handling of bytes in the bundle: what oracles
// and pages tell each other is JSON.
export const hasBinary = () => false;
export const isBinary = () => false;
export const deconstructPacket = (packet) => ({ packet, buffers: [] });
export const reconstructPacket = (packet) => packet;
