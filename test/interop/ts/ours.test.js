// Tokens that our program mints, before @ucanto's own validator.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ed25519, Verifier } from '@ucanto/principal'
import { capability, claim, Schema, URI } from '@ucanto/validator'
import { alice, bob, carol, decode, delegate, encode, home, service } from './actors.js'
import { keyFile, run } from './castalia.js'

const keys = { alice: keyFile(ed25519.format(alice)), bob: keyFile(ed25519.format(bob)), carol: keyFile(ed25519.format(carol)) }

// The definition a service of the file store would write: subtrees, and caveats
// that are decided elsewhere.
const within = (claimed, granted) => claimed === granted || claimed.startsWith(`${granted.replace(/\/\*?$/, '')}/`)
const read = capability({
  can: 'fs/read',
  with: URI.match({ protocol: 'vfs:' }),
  nb: Schema.struct({ cids: Schema.array(Schema.string()).optional() }),
  derives: (claimed, granted) => (within(claimed.with, granted.with) ? { ok: {} } : { error: new Error(`${claimed.with} is not in ${granted.with}`) }),
})

const ask = (delegation) =>
  claim(read, [delegation], {
    authority: service,
    principal: Verifier,
    canIssue: (cap, issuer) => decodeURIComponent(cap.with).split('/').includes(issuer),
    validateAuthorization: () => ({ ok: {} }),
  })

const minted = async (...args) => decode(await run('ucan', ...args))

test('ucanto accepts a self-issued invocation of ours', async () => {
  const token = await minted('invoke', '--key', keys.alice, '--audience', service.did(), '--can', 'fs/read', '--with', home(alice.did()))
  assert.equal(token.issuer.did(), alice.did())
  assert.equal(token.audience.did(), service.did())
  const result = await ask(token)
  assert.ok(result.ok, result.error?.message)
})

test('ucanto accepts a chain of ours, with caveats, facts and a nonce', async () => {
  const nb = JSON.stringify({ cids: ['a'] })
  const first = await run('ucan', 'delegate', '--key', keys.alice, '--audience', bob.did(), '--can', 'fs/*', '--with', home(alice.did()), '--nb', nb, '--ttl', '7d')
  const second = await run('ucan', 'delegate', '--key', keys.bob, '--audience', carol.did(), '--can', 'fs/read', '--with', home(alice.did(), '/reports'), '--nb', nb, '--proof', first,
    '--fact', '{"note":"naïve 🜚","n":[1,-2,0.5,1e21,true,null]}', '--nonce', 'once', '--not-before', '1700000000')
  const leaf = await minted('invoke', '--key', keys.carol, '--audience', service.did(), '--can', 'FS/Read', '--with', home(alice.did(), '/reports/x'), '--nb', nb, '--proof', second)
  const result = await ask(leaf)
  assert.ok(result.ok, result.error?.message)
  assert.equal(leaf.proofs[0].proofs[0].issuer.did(), alice.did())
  assert.deepEqual(leaf.proofs[0].facts, [{ note: 'naïve 🜚', n: [1, -2, 0.5, 1e21, true, null] }])
})

test('ucanto accepts a chain that both of us made', async () => {
  const theirs = await encode(await delegate(alice, bob, [{ can: 'fs/read', with: home(alice.did()) }]))
  const ours = await run('ucan', 'delegate', '--key', keys.bob, '--audience', carol.did(), '--can', 'fs/read', '--with', home(alice.did()), '--proof', theirs)
  const leaf = await delegate(carol, service, [{ can: 'fs/read', with: home(alice.did()) }], { proofs: [await decode(ours)] })
  const result = await ask(leaf)
  assert.ok(result.ok, result.error?.message)
})

test('ucanto archives our token to the same bytes', async () => {
  const first = await run('ucan', 'delegate', '--key', keys.alice, '--audience', bob.did(), '--can', 'fs/read', '--with', home(alice.did()), '--ttl', 'never')
  const text = await run('ucan', 'invoke', '--key', keys.bob, '--audience', service.did(), '--can', 'fs/read', '--with', home(alice.did()), '--proof', first)
  assert.equal(await encode(await decode(text)), text)
})

test('ucanto refuses what we sign although it must not be', async () => {
  const grant = await run('ucan', 'delegate', '--key', keys.alice, '--audience', bob.did(), '--can', 'fs/list', '--with', home(alice.did()))
  const forged = await minted('invoke', '--key', keys.bob, '--audience', service.did(), '--can', 'fs/read', '--with', home(alice.did()), '--proof', grant)
  assert.ok((await ask(forged)).error)
})
