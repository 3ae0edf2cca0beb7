// The documentation page: reads /docs-json, lists the routes, lets you try them.
// No library, no other host; every text enters the page as text, never as HTML.
'use strict';

const byId = (id) => document.getElementById(id);
const verbs = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options'];
let doc = {};

// el('p.faint', {title: 'x'}, 'text', child, …)
function el(spec, attrs, ...children) {
  const [name, ...classes] = spec.split('.');
  const node = document.createElement(name);
  if (classes.length) node.className = classes.join(' ');
  for (const [key, value] of Object.entries(attrs || {})) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.flat(Infinity).filter((c) => c !== undefined && c !== null && c !== ''));
  return node;
}

function resolve(schema, seen = 0) {
  if (!schema || !schema.$ref || seen > 8) return schema || {};
  const name = decodeURIComponent(schema.$ref.split('/').pop());
  return resolve((doc.components?.schemas || {})[name], seen + 1);
}

function typeName(schema) {
  const s = resolve(schema);
  const types = (Array.isArray(s.type) ? s.type : [s.type]).filter(Boolean);
  const word = types.filter((t) => t !== 'null').map((t) => (t === 'array' && s.items ? typeName(s.items) + '[]' : t)).join(' | ');
  return (word || (s.enum ? 'enum' : s.properties ? 'object' : 'any')) + (s.format ? ` (${s.format})` : '') + (types.includes('null') && types.length > 1 ? ' | null' : '');
}

// An example value: enough to edit, never more than a few levels deep.
function example(schema, depth = 0) {
  const s = resolve(schema);
  if (s.examples?.length) return s.examples[0];
  if (s.default !== undefined) return s.default;
  if (s.const !== undefined) return s.const;
  if (s.enum?.length) return s.enum[0];
  const type = Array.isArray(s.type) ? s.type.find((t) => t !== 'null') : s.type;
  if (depth > 4) return null;
  if (type === 'object' || s.properties) {
    const out = {};
    for (const [name, inner] of Object.entries(s.properties || {})) {
      if (depth === 0 || (s.required || []).includes(name)) out[name] = example(inner, depth + 1);
    }
    return out;
  }
  if (type === 'array') return [];
  if (type === 'integer' || type === 'number') return 0;
  if (type === 'boolean') return false;
  if (type === 'string') return '';
  return null;
}

function schemaView(schema, depth = 0) {
  const s = resolve(schema);
  const object = s.type === 'array' || (Array.isArray(s.type) && s.items) ? resolve(s.items) : s;
  const props = Object.entries(object.properties || {});
  const list = depth > 4 || !props.length ? null : el('ul', {}, props.map(([name, inner]) => el('li', {},
    name, ' ', el('span.t', {}, typeName(inner)),
    (object.required || []).includes(name) ? el('span.r', {}, ' required') : '',
    inner.description ? el('span.d', {}, '  ' + inner.description) : '',
    schemaView(inner, depth + 1).querySelector('ul'))));
  return el('div.schema', {}, depth === 0 ? el('span.t', {}, typeName(s)) : '', s.enum ? el('span.d', {}, ' one of ' + s.enum.join(', ')) : '', list);
}

const shownPath = (path) => path.split(/(\{[^}]*\})/).map((part) => (part.startsWith('{') ? el('i', {}, part) : part));
const quote = (s) => "'" + String(s).replaceAll("'", "'\\''") + "'";

function credentials() {
  const headers = {};
  const bearer = byId('bearer').value.trim();
  if (bearer) {
    headers.Authorization = 'Bearer ' + bearer;
    if (byId('authtype').value.trim()) headers['X-Auth-Type'] = byId('authtype').value.trim();
  }
  if (byId('delegation').value.trim()) headers['x-ucan-delegation'] = byId('delegation').value.trim();
  return headers;
}

// tryForm is the form that sends one operation, and shows what came back.
function tryForm(verb, path, op) {
  const fields = (op.parameters || []).map((p) => {
    const s = resolve(p.schema);
    const input = s.enum || s.type === 'boolean'
      ? el('select', {}, ['', ...(s.enum || ['true', 'false'])].map((v) => el('option', {}, String(v))))
      : el('input', {autocomplete: 'off', spellcheck: 'false', placeholder: typeName(s), required: p.required});
    return {p, input, view: el('label', {title: p.description}, `${p.name} `, el('span.faint', {}, p.in + (p.required ? ', required' : '')), input)};
  });
  const media = Object.keys(op.requestBody?.content || {});
  const kind = el('select', {'aria-label': 'Content type'}, media.map((m) => el('option', {}, m)));
  const text = el('textarea', {spellcheck: 'false', 'aria-label': 'Request body'});
  const fill = () => {
    const schema = op.requestBody.content[kind.value]?.schema;
    text.value = schema && kind.value.includes('json') ? JSON.stringify(example(schema), null, 2) : '';
  };
  if (media.length) { fill(); kind.addEventListener('change', fill); }
  const curl = el('pre', {'aria-label': 'The same request with curl'});
  const out = el('div', {'aria-live': 'polite'});
  const stop = el('button.plain', {type: 'button', hidden: true}, 'Stop');

  function request() {
    let target = path;
    const query = new URLSearchParams();
    const headers = op['x-auth'] === 'public' ? {} : credentials();
    for (const {p, input} of fields) {
      const value = input.value;
      if (p.in === 'path') target = target.replace(`{${p.name}}`, value === '' ? `{${p.name}}` : encodeURIComponent(value));
      else if (value === '') continue;
      else if (p.in === 'query') query.append(p.name, value);
      else if (p.in === 'header') headers[p.name] = value;
    }
    const init = {method: verb.toUpperCase(), headers};
    if (media.length && text.value !== '') {
      headers['Content-Type'] = kind.value;
      init.body = text.value;
    }
    return {url: target + (query.size ? '?' + query : ''), init};
  }
  function showCurl() {
    const {url, init} = request();
    const parts = ['curl -i' + (init.method === 'GET' ? '' : ' -X ' + init.method), quote(location.origin + url)];
    for (const [name, value] of Object.entries(init.headers)) {
      const secret = name === 'Authorization' || name === 'x-ucan-delegation';
      parts.push(secret ? `-H "${name}: ${name === 'Authorization' ? 'Bearer $TOKEN' : '$DELEGATION'}"` : '-H ' + quote(`${name}: ${value}`));
    }
    if (init.body) parts.push('--data-binary ' + quote(init.body));
    curl.textContent = parts.join(' \\\n  ');
  }

  async function send(event) {
    event.preventDefault();
    showCurl();
    const {url, init} = request();
    const abort = new AbortController();
    stop.hidden = false;
    stop.onclick = () => abort.abort();
    const began = performance.now();
    try {
      const reply = await fetch(url, {...init, signal: abort.signal});
      const line = el('span.status.' + (reply.ok ? 'good' : 'bad'), {}, `${reply.status} ${reply.statusText}`);
      const took = el('span.faint');
      const head = el('pre', {}, [...reply.headers].map(([k, v]) => `${k}: ${v}`).join('\n'));
      const pre = el('pre', {tabindex: '0', 'aria-label': 'Response body'});
      out.replaceChildren(el('div.act', {}, line, took), el('details', {}, el('summary.faint', {}, 'Response headers'), head), pre);
      await readBody(reply, pre);
      took.textContent = `${Math.round(performance.now() - began)} ms`;
    } catch (err) {
      out.append(el('p.status.bad', {}, abort.signal.aborted ? 'Stopped.' : 'No answer: ' + err.message));
    }
    stop.hidden = true;
  }
  const form = el('form', {onsubmit: send, oninput: showCurl},
    fields.length ? el('div.cols', {}, fields.map((f) => f.view)) : '',
    media.length ? [media.length > 1 ? kind : el('span.faint', {}, media[0]), text] : '',
    el('div.act', {}, el('button', {type: 'submit'}, 'Send'), stop), curl);
  byId('credentials').addEventListener('input', showCurl);
  showCurl();
  return [form, out];
}

async function readBody(reply, pre) {
  const type = reply.headers.get('content-type') || '';
  if (!reply.body) return;
  if (!/json|text|xml|javascript/.test(type)) {
    pre.textContent = `[${(await reply.blob()).size} bytes of ${type || 'unnamed type'}]`;
    return;
  }
  if (type.includes('json')) {
    const text = await reply.text();
    try { pre.textContent = JSON.stringify(JSON.parse(text), null, 2); } catch { pre.textContent = text; }
    return;
  }
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    pre.append(part.value);
    pre.scrollTop = pre.scrollHeight;
  }
}

function details(verb, path, op) {
  const bodies = Object.entries(op.requestBody?.content || {}).filter(([, c]) => c.schema);
  return el('div.body', {},
    op.description ? el('p', {}, op.description) : '',
    bodies.map(([media, c]) => [el('h3', {}, 'Body · ' + media), schemaView(c.schema)]),
    el('h3', {}, 'Answers'),
    el('table', {}, Object.entries(op.responses || {}).map(([status, r]) => el('tr', {},
      el('th', {}, el('span.status.' + (status < '4' ? 'good' : 'bad'), {}, status)),
      el('td', {}, r.description || '', Object.entries(r.content || {}).map(([media, c]) => el('div', {}, el('span.faint', {}, media), c.schema ? schemaView(c.schema) : '')))))),
    el('h3', {}, 'Try it'), tryForm(verb, path, op));
}

const locks = {principal: 'signed in', optional: 'sign-in optional', operator: 'operator'};

function operation({verb, path, op}) {
  const view = el('details.op', {id: verb.toUpperCase() + path},
    el('summary', {}, el('span.verb.' + verb, {}, verb.toUpperCase()), el('span.path', {}, shownPath(path)),
      el('span.sum', {}, op.summary || ''), locks[op['x-auth']] ? el('span.lock', {}, locks[op['x-auth']]) : ''));
  view.addEventListener('toggle', () => {
    if (view.open && view.children.length === 1) view.append(details(verb, path, op));
    if (view.open) history.replaceState(null, '', '#' + verb.toUpperCase() + path);
  });
  return view;
}

function render() {
  byId('title').textContent = doc.info.title;
  byId('version').textContent = doc.info.version;
  document.title = doc.info.title + ' · API';
  const groups = new Map((doc.tags || []).map((t) => [t.name, []])); // in the document's order
  for (const [path, item] of Object.entries(doc.paths)) {
    for (const verb of verbs.filter((v) => item[v])) {
      const tag = item[verb].tags?.[0] || 'other';
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push({verb, path, op: item[verb]});
    }
  }
  const shown = (tag) => (tag.includes('.') ? tag : tag[0].toUpperCase() + tag.slice(1));
  const about = new Map((doc.tags || []).map((t) => [t.name, t.description]));
  const entries = [...groups].filter(([, ops]) => ops.length).map(([tag, ops]) => {
    const list = ops.map((o) => ({view: operation(o), words: `${o.verb} ${o.path} ${o.op.summary || ''} ${o.op.description || ''} ${tag}`.toLowerCase()}));
    const section = el('section.group', {id: 'tag-' + tag}, el('h2', {}, shown(tag)), about.get(tag) ? el('p.faint', {}, about.get(tag)) : '', list.map((o) => o.view));
    const count = el('span.faint', {}, String(list.length));
    return {list, section, count, link: el('li', {}, el('a', {href: '#tag-' + encodeURIComponent(tag)}, shown(tag), count))};
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
  const wanted = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (wanted?.matches('details')) { wanted.open = true; wanted.scrollIntoView(); }
}

document.addEventListener('keydown', (event) => {
  if (event.key === '/' && !event.target.closest('input, textarea, select')) { event.preventDefault(); byId('filter').focus(); }
});
byId('credentials').addEventListener('input', () => { byId('credstate').textContent = Object.keys(credentials()).length ? 'set' : 'none'; });

fetch('/docs-json').then((r) => { if (!r.ok) throw new Error(`${r.status}`); return r.json(); }).then((d) => { doc = d; render(); })
  .catch((err) => { byId('status').textContent = 'The document could not be read: ' + err.message; });
