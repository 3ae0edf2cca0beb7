// Tokens that @ucanto mints, before our verifier.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ed25519 } from '@ucanto/principal'
import * as rsaSigner from '@ucanto/principal/rsa'
import { p256 } from '@noble/curves/nist.js'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import * as DAGUCAN from '@ipld/dag-ucan'
import * as Signature from '@ipld/dag-ucan/signature'
import { parse as parseDID } from '@ipld/dag-ucan/did'
import { base58btc } from 'multiformats/bases/base58'
import * as Core from '@ucanto/core'
import { alice, bob, carol, delegate, encode, home, service, soon } from './actors.js'
import { verify } from './castalia.js'

const audience = service.did()

test('a self-issued invocation', async () => {
  const token = await encode(await delegate(alice, service, [{ can: 'fs/read', with: home(alice.did()) }]))
  const verdict = await verify(token, { audience, can: 'fs/read', with: home(alice.did(), '/a') })
  assert.equal(verdict.valid, true, JSON.stringify(verdict))
  assert.equal(verdict.code, 0)
  assert.equal(verdict.issuer, alice.did())
  assert.equal(verdict.root, alice.did())
  assert.equal(verdict.cids, null)
})

test('a chain of three hops with caveats, facts, nonce and time bounds', async () => {
  const nb = { cids: ['a', 'b', 'c'], 'ключ': { deep: [1, -7, 0.5, 1e21, true, null, 'line\u2028 \b\f"\\/<>&'] } }
  const first = await delegate(alice, bob, [{ can: 'fs/*', with: home(alice.did()), nb }], { nonce: 'n1' })
  const second = await delegate(bob, carol, [{ can: 'fs/write', with: home(alice.did(), '/reports'), nb: { ...nb, cids: ['b', 'c'] } }], {
    proofs: [first],
    notBefore: soon() - 1200,
    facts: [{ note: 'naïve 🜚 \u{1F71A}', bytes: new Uint8Array([1, 2, 3]), link: first.cid, '\uFFFD': 1, '\u{10000}': 2 }],
  })
  const leaf = await delegate(carol, service, [{ can: 'fs/read', with: home(alice.did(), '/reports/2026'), nb: { ...nb, cids: ['c', 'd'] } }], { proofs: [second] })
  const verdict = await verify(await encode(leaf), { audience, can: 'fs/read', with: home(alice.did(), '/reports/2026') })
  assert.equal(verdict.valid, true, JSON.stringify(verdict))
  assert.equal(verdict.root, alice.did())
  assert.deepEqual(verdict.cids, ['c'])
  assert.deepEqual(verdict.path, [leaf, second, first].map((d) => d.cid.toString()))
})

test('a grant in the other spelling of a namespace', async () => {
  const grant = await delegate(alice, bob, [{ can: 'fs/read', with: `vfs:///${alice.did()}` }])
  const leaf = await delegate(bob, service, [{ can: 'fs/read', with: home(alice.did(), '/x') }], { proofs: [grant] })
  const verdict = await verify(await encode(leaf), { audience })
  assert.equal(verdict.valid, true, JSON.stringify(verdict))
})

for (const [name, make] of Object.entries({
  'more than was granted': () => ({ can: 'fs/write', with: home(alice.did()) }),
  'a place beside': () => ({ can: 'fs/read', with: home(alice.did(), '/secret') }),
  'a place above': () => ({ can: 'fs/read', with: home(alice.did()) }),
  'another namespace': () => ({ can: 'fs/read', with: home(carol.did(), '/reports') }),
})) {
  test(`refuses ${name}`, async () => {
    const grant = await delegate(alice, bob, [{ can: 'fs/read', with: home(alice.did(), '/reports') }])
    const leaf = await delegate(bob, service, [make()], { proofs: [grant] })
    const verdict = await verify(await encode(leaf), { audience })
    assert.equal(verdict.valid, false)
    assert.match(verdict.reason, /^escalation_/)
    assert.equal(verdict.code, 1)
  })
}

test('refuses expired, early, misdirected and tampered tokens', async () => {
  const capability = [{ can: 'fs/read', with: home(alice.did()) }]
  const now = soon() - 600
  const cases = [
    [await delegate(alice, service, capability, { expiration: now - 1 }), 'expired'],
    [await delegate(alice, service, capability, { notBefore: now + 300 }), 'not_yet_valid'],
    [await delegate(alice, bob, capability), 'wrong_audience'],
  ]
  for (const [delegation, reason] of cases) {
    assert.equal((await verify(await encode(delegation), { audience })).reason, reason)
  }
  const bytes = Buffer.from(await encode(await delegate(alice, service, capability)), 'base64')
  for (let i = 60; i < bytes.length; i += 23) {
    const bent = Buffer.from(bytes)
    bent[i] ^= 1
    assert.equal((await verify(bent.toString('base64'), { audience })).valid, false, `byte ${i} was changed unnoticed`)
  }
})

test('an RSA key', async () => {
  const rsa = await rsaSigner.generate()
  const token = await encode(await delegate(rsa, service, [{ can: 'fs/read', with: home(rsa.did()) }]))
  const verdict = await verify(token, { audience })
  assert.equal(verdict.valid, true, JSON.stringify(verdict))
})

// Signers that @ucanto/principal does not have, on top of dag-ucan's codes.
const curves = {
  'P-256': { curve: p256, tag: [0x80, 0x24], code: Signature.ES256, alg: 'ES256' },
  secp256k1: { curve: secp256k1, tag: [0xe7, 0x01], code: Signature.ES256K, alg: 'ES256K' },
}
for (const [name, { curve, tag, code, alg }] of Object.entries(curves)) {
  test(`a ${name} key`, async () => {
    const { secretKey, publicKey } = curve.keygen()
    const did = `did:key:${base58btc.encode(new Uint8Array([...tag, ...publicKey]))}`
    const issuer = Object.assign(parseDID(did), {
      signatureCode: code,
      signatureAlgorithm: alg,
      sign: (payload) => Signature.create(code, curve.sign(payload, secretKey)),
    })
    const view = await DAGUCAN.issue({ issuer, audience: service, capabilities: [{ can: 'fs/read', with: home(did) }], expiration: soon() })
    const block = await DAGUCAN.write(view)
    const delegation = Core.Delegation.create({ root: block })
    const verdict = await verify(await encode(delegation), { audience })
    assert.equal(verdict.valid, true, JSON.stringify(verdict))
    assert.equal(verdict.issuer, did)
  })
}

test('text forms that real decoders take', async () => {
  const token = await encode(await delegate(alice, service, [{ can: 'fs/read', with: home(alice.did()) }]))
  const url = token.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
  const spaced = token.match(/.{1,64}/g).join('\n ')
  for (const text of [token, url, spaced]) assert.equal((await verify(text, { audience })).valid, true)
})

test('a did:key of ucanto in our key file gives the same DID', async () => {
  const { run, keyFile } = await import('./castalia.js')
  const signer = await ed25519.generate()
  assert.equal(await run('key', 'show', keyFile(ed25519.format(signer))), signer.did())
})
