// Principals and tokens as real clients make them.
import * as Core from '@ucanto/core'
import { ed25519 } from '@ucanto/principal'

export const alice = await ed25519.generate()
export const bob = await ed25519.generate()
export const carol = await ed25519.generate()
export const service = (await ed25519.generate()).withDID('did:web:files.test')

/** The file store of a DID, written as the URL parser accepts it. */
export const home = (did, path = '') => `vfs://${encodeURIComponent(did)}${path}`

/** The text in which a token travels: base64 of the archive. */
export async function encode(delegation) {
  const archived = await delegation.archive()
  if (archived.error) throw archived.error
  return Buffer.from(archived.ok).toString('base64')
}

/** Reads a token with ucanto. */
export async function decode(token) {
  const extracted = await Core.Delegation.extract(new Uint8Array(Buffer.from(token, 'base64')))
  if (extracted.error) throw extracted.error
  return extracted.ok
}

export const soon = () => Math.floor(Date.now() / 1000) + 600

export function delegate(issuer, audience, capabilities, options = {}) {
  return Core.delegate({ issuer, audience, capabilities, expiration: soon(), ...options })
}
