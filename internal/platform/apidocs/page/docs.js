// The documentation page: reads /docs-json, lists the routes, finds them.
// No library, no other host; every text enters the page as text, never as HTML. An address may
// open a route (#GET/health). It never fills anything in, and nothing is sent but by a press.
import { byId, el, shared } from '/docs/dom.js';
import { lookForKey } from '/docs/credentials.js';
import { details } from '/docs/operation.js';
import { operations } from '/docs/snippets.js';

const shownPath = (path) => path.split(/(\{[^}]*\})/).map((part) => (part.startsWith('{') ? el('i', {}, part) : part));
const locks = { principal: 'signed in', optional: 'sign-in optional', operator: 'operator' };

function operation({ verb, path, op }) {
  const view = el('details.op', { id: verb.toUpperCase() + path },
    el('summary', {}, el('span.verb.' + verb, {}, verb.toUpperCase()), el('span.path', {}, shownPath(path)),
      el('span.sum', {}, op.summary || ''), locks[op['x-auth']] ? el('span.lock', {}, locks[op['x-auth']]) : ''));
  view.addEventListener('toggle', () => {
    if (view.open && view.children.length === 1) view.append(details(verb, path, op));
    if (view.open) history.replaceState(null, '', '#' + verb.toUpperCase() + path);
  });
  return view;
}

/** Opens the route that the address names, and nothing more. */
function openNamed() {
  let id = '';
  try { id = decodeURIComponent(location.hash.slice(1)); } catch { /* not an address of ours */ }
  const wanted = document.getElementById(id);
  if (wanted?.matches('details.op')) { wanted.open = true; wanted.scrollIntoView(); }
}

function render() {
  const { doc } = shared;
  byId('title').textContent = doc.info.title;
  byId('version').textContent = doc.info.version;
  document.title = doc.info.title + ' · API';
  const groups = new Map((doc.tags || []).map((t) => [t.name, []])); // in the document's order
  for (const one of operations(doc)) {
    const tag = one.op.tags?.[0] || 'Other';
    if (!groups.has(tag)) groups.set(tag, []);
    groups.get(tag).push(one);
  }
  const about = new Map((doc.tags || []).map((t) => [t.name, t.description]));
  const entries = [...groups].filter(([, ops]) => ops.length).map(([tag, ops]) => {
    const list = ops.map((o) => ({ view: operation(o), words: `${o.verb} ${o.path} ${o.op.summary || ''} ${o.op.description || ''} ${tag}`.toLowerCase() }));
    const section = el('section.group', { id: 'tag-' + tag }, el('h2', {}, tag), about.get(tag) ? el('p.faint', {}, about.get(tag)) : '', list.map((o) => o.view));
    const count = el('span.faint', {}, String(list.length));
    return { list, section, count, link: el('li', {}, el('a', { href: '#tag-' + encodeURIComponent(tag) }, tag, count)) };
  });
  byId('groups').replaceChildren(...entries.map((e) => e.section));
  byId('toc').replaceChildren(...entries.map((e) => e.link));
  const total = entries.reduce((n, e) => n + e.list.length, 0);

  function filter() {
    const words = byId('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const e of entries) {
      const hits = e.list.filter((o) => (o.view.hidden = !words.every((w) => o.words.includes(w))) === false).length;
      e.section.hidden = e.link.hidden = hits === 0;
      e.count.textContent = hits;
      shown += hits;
    }
    byId('status').textContent = words.length ? `${shown} of ${total} routes` : `${total} routes`;
  }
  byId('filter').addEventListener('input', filter);
  filter();
  openNamed();
  addEventListener('hashchange', openNamed);
}

document.addEventListener('keydown', (event) => {
  if (event.key === '/' && !event.target.closest('input, textarea, select')) { event.preventDefault(); byId('filter').focus(); }
});

async function read(path) {
  const reply = await fetch(path);
  if (!reply.ok) throw new Error(`${path}: ${reply.status}`);
  return reply.json();
}

try {
  const [doc, identity] = await Promise.all([read('/docs-json'), read('/.well-known/did.json').catch(() => ({}))]);
  shared.doc = doc;
  shared.did = identity.id || 'DID-OF-THE-SERVICE';
  render();
} catch (err) {
  byId('status').textContent = 'The document could not be read: ' + err.message;
}
await lookForKey();
