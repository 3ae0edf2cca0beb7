// The program under test, as a command line. It is the binary that `make build`
// made, or CASTALIA, or one that is built here for the occasion.
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
export const root = resolve(here, '../../..')

function findBinary() {
  const given = process.env.CASTALIA ?? join(root, 'bin/castalia')
  if (existsSync(given)) return given
  const built = join(mkdtempSync(join(tmpdir(), 'castalia-interop-')), 'castalia')
  execFileSync('go', ['build', '-o', built, './cmd/castalia'], { cwd: root, stdio: 'inherit' })
  return built
}

const binary = findBinary()
const folder = mkdtempSync(join(tmpdir(), 'castalia-keys-'))

/** Runs a command and returns its exit code and output. */
export function castalia(...args) {
  return new Promise((done) => {
    execFile(binary, args, { env: { PATH: process.env.PATH } }, (error, stdout, stderr) => {
      done({ code: error ? error.code : 0, stdout: stdout.trim(), stderr })
    })
  })
}

/** Runs a command that must succeed and returns what it printed. */
export async function run(...args) {
  const { code, stdout, stderr } = await castalia(...args)
  if (code !== 0) throw new Error(`castalia ${args[0]} ${args[1]}: exit ${code}: ${stderr}${stdout}`)
  return stdout
}

let files = 0

/** Writes the private key of a ucanto signer to a file that our program reads. */
export function keyFile(text) {
  const file = join(folder, `key-${files++}`)
  writeFileSync(file, text, { mode: 0o600 })
  return file
}

/** Asks our verifier; the verdict is there for valid and refused tokens alike. */
export async function verify(token, { audience, can, with: resource, at }) {
  const args = ['ucan', 'verify', '--audience', audience]
  if (can) args.push('--can', can, '--with', resource)
  if (at) args.push('--at', String(at))
  const { code, stdout, stderr } = await castalia(...args, token)
  if (!stdout) throw new Error(`no verdict: ${stderr}`)
  return { ...JSON.parse(stdout), code }
}
