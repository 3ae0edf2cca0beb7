// As whom a request is sent: with the console's key, with a token that somebody pasted, or as
// nobody. The key stays where the console keeps it; what is signed here is good for a minute,
// for this server, and for what the chosen route needs.
import { byId, el, shared } from '/docs/dom.js';

const signer = '/console/signer.js';
let wallet; // the console's code that signs, and the DID of its key

/** Looks whether this browser has the console's key. */
export async function lookForKey() {
  const state = byId('keystate');
  try {
    const code = await import(signer);
    const did = await code.keyDid();
    wallet = did && { ...code, did };
    if (did) state.replaceChildren('The console’s key in this browser: ', el('code', {}, did));
    else state.replaceChildren('There is no key in this browser. ', el('a', { href: '/console/' }, 'Open the console'), ', make or bring one there, and reload this page.');
  } catch { // a build without the console
    wallet = undefined;
    state.textContent = 'The console was not built into this server, so that there is no key here to sign with.';
  }
  const choice = byId('as');
  choice.querySelector('[value=key]').disabled = !wallet;
  choice.value = wallet ? 'key' : 'none';
  changed();
}

const shortDid = (did) => `${did.slice(0, 14)}…${did.slice(-4)}`;

/** How the button says as whom it sends. */
export function sender(op) {
  if ((op['x-auth'] || 'public') === 'public') return 'Send';
  const as = byId('as').value;
  return as === 'key' && wallet ? `Send as ${shortDid(wallet.did)}` : as === 'token' ? 'Send with the token' : 'Send without a credential';
}

/** The headers of a request, signed now. */
export async function credentialHeaders(op, verb) {
  if ((op['x-auth'] || 'public') === 'public') return {};
  const as = byId('as').value;
  if (as === 'key' && wallet) {
    const token = await wallet.sign(shared.did, op['x-right'], ['get', 'head', 'options'].includes(verb), op['x-role']);
    return { Authorization: `Bearer ${token}`, 'X-Auth-Type': 'ucan' };
  }
  const pasted = byId('bearer').value.trim();
  if (as !== 'token' || !pasted) return {};
  const isApp = pasted.startsWith('cak_');
  return { Authorization: `Bearer ${pasted}`, ...(isApp || byId('plain').checked ? {} : { 'X-Auth-Type': 'ucan' }) };
}

function changed() {
  byId('pasted').hidden = byId('as').value !== 'token';
  document.dispatchEvent(new Event('credentials'));
}

byId('as').addEventListener('change', changed);
byId('bearer').addEventListener('input', changed);
