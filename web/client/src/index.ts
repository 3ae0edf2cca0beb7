/**
 * Client library of Castalia oracles: a provider, hooks and the types they speak.
 *
 * @packageDocumentation
 */
export { version } from "./version";
