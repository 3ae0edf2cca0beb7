// One route: what it takes and answers, the same request as programs, and a form that sends it.
import { codeBlock, el, shared, tabList } from '/docs/dom.js';
import { credentialHeaders, sender } from '/docs/credentials.js';
import { bodyOf, credentialCommands, credentialOf, languages, mediaOf, requestOf, snippet } from '/docs/snippets.js';

function resolve(schema, seen = 0) {
  if (!schema || !schema.$ref || seen > 8) return schema || {};
  const name = decodeURIComponent(schema.$ref.split('/').pop());
  return resolve((shared.doc.components?.schemas || {})[name], seen + 1);
}

function typeName(schema) {
  const s = resolve(schema);
  const types = (Array.isArray(s.type) ? s.type : [s.type]).filter(Boolean);
  const word = types.filter((t) => t !== 'null').map((t) => (t === 'array' && s.items ? typeName(s.items) + '[]' : t)).join(' | ');
  return (word || (s.enum ? 'enum' : s.properties ? 'object' : 'any')) + (s.format ? ` (${s.format})` : '') + (types.includes('null') && types.length > 1 ? ' | null' : '');
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

function exampleView(label, example) {
  const { code, view } = codeBlock(label);
  code.textContent = typeof example === 'string' ? example : JSON.stringify(example, null, 2);
  return view;
}

/** The fields of the form, and what was typed into them. What deletes is typed by hand. */
function fieldsOf(verb, op) {
  const fields = (op.parameters || []).map((p) => {
    const s = resolve(p.schema);
    const example = String(p.example ?? '');
    const value = (p.required || p['x-shown']) && verb !== 'delete' && !s.enum ? example : '';
    const input = s.enum || s.type === 'boolean'
      ? el('select', { required: p.required }, p.required ? '' : el('option', { value: '' }), (s.enum || ['true', 'false']).map((v) => el('option', {}, String(v))))
      : el('input', { autocomplete: 'off', spellcheck: 'false', placeholder: example && example !== 'text' ? `such as ${example}` : typeName(s), required: p.required, value });
    const about = el('span.faint', {}, `${p.in}${p.required ? ', required' : ''}${p.description ? `: ${p.description}` : ''}`);
    return { p, input, view: el('label', {}, `${p.name} `, about, input) };
  });
  const media = verb === 'get' || verb === 'head' || verb === 'delete' ? [] : mediaOf(op);
  const kind = el('select', { 'aria-label': 'Content type' }, media.map((m) => el('option', {}, m)));
  const text = el('textarea', { spellcheck: 'false', 'aria-label': 'Request body' });
  const fill = () => { text.value = bodyOf(op, kind.value).body ?? ''; };
  if (media.length) { fill(); kind.addEventListener('change', fill); }
  const values = () => ({
    ...Object.fromEntries(fields.map(({ p, input }) => [`${p.in} ${p.name}`, input.value])),
    ...(media.length ? { media: kind.value, body: text.value } : {}),
  });
  const view = [
    fields.length ? el('div.cols', {}, fields.map((f) => f.view)) : '',
    media.length ? [media.length > 1 ? kind : el('span.faint', {}, media[0]), text] : '',
  ];
  return { values, view };
}

/** The snippets, drawn again whenever a field changes. */
function snippetView(verb, path, op, values) {
  const { code, view } = codeBlock('The request as a program');
  let language = shared.language;
  const draw = () => { code.textContent = snippet(language, requestOf({ origin: location.origin, verb, path, op, values: values() })); };
  const tabs = tabList('Language', languages, language, (chosen) => { shared.language = language = chosen; draw(); });
  tabs.panel.append(view);
  tabs.start();
  const commands = credentialCommands({ verb, op, origin: location.origin, did: shared.did });
  if (!commands) return { draw, view: tabs.view };
  const credential = codeBlock('Commands that make the credential');
  credential.code.textContent = commands;
  const note = { operator: 'A token of a key that has a role here, for a few minutes. OPERATOR_TOKEN, without X-Auth-Type, does as well.', appKey: 'An app key, for programs that know one constant secret.', ucan: 'A token that your key signs, for a few minutes.' }[credentialOf(op)];
  return { draw, view: [el('p.faint', {}, note), credential.view, tabs.view] };
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

/** The form that sends, by a press of its button alone. */
function tryView(verb, path, op, fields, draw) {
  const out = el('div', { 'aria-live': 'polite' });
  const button = el('button', { type: 'submit' }, sender(op));
  const stop = el('button.plain', { type: 'button', hidden: true }, 'Stop');
  document.addEventListener('credentials', () => { button.textContent = sender(op); });
  async function send(event) {
    event.preventDefault();
    const abort = new AbortController();
    stop.hidden = false;
    stop.onclick = () => abort.abort();
    const began = performance.now();
    try {
      const request = requestOf({ origin: location.origin, verb, path, op, values: fields.values() });
      const own = Object.fromEntries(request.headers.filter(([name]) => name !== 'X-Auth-Type'));
      const signed = await credentialHeaders(op, verb);
      const reply = await fetch(request.url, { method: request.method, headers: { ...own, ...signed }, body: request.body, signal: abort.signal, credentials: 'omit', redirect: 'manual' });
      const line = el('span.status.' + (reply.ok ? 'good' : 'bad'), {}, reply.type === 'opaqueredirect' ? 'It leads elsewhere' : `${reply.status} ${reply.statusText}`);
      const took = el('span.faint');
      const head = el('pre', { tabindex: '0', role: 'region', 'aria-label': 'Response headers' }, [...reply.headers].map(([k, v]) => `${k}: ${v}`).join('\n'));
      const pre = el('pre', { tabindex: '0', role: 'region', 'aria-label': 'Response body' });
      out.replaceChildren(el('div.act', {}, line, took), el('details', {}, el('summary.faint', {}, 'Response headers'), head), pre, tokenView(signed));
      await readBody(reply, pre);
      took.textContent = `${Math.round(performance.now() - began)} ms`;
    } catch (err) {
      out.append(el('p.status.bad', {}, abort.signal.aborted ? 'Stopped.' : 'No answer: ' + err.message));
    }
    stop.hidden = true;
  }
  const form = el('form', { onsubmit: send, oninput: draw, onchange: draw }, fields.view, el('div.act', {}, button, stop));
  return [form, out];
}

/** The token that was sent, only for who asks to see it. */
function tokenView(signed) {
  if (!signed.Authorization) return '';
  const show = el('button.plain', { type: 'button' }, 'Show the token that was sent');
  show.addEventListener('click', () => show.replaceWith(exampleView('The token that was sent', signed.Authorization.replace('Bearer ', ''))));
  return el('div.act', {}, show);
}

/** Everything about a route, made when it is opened. */
export function details(verb, path, op) {
  const bodies = Object.entries(op.requestBody?.content || {}).filter(([, c]) => c.schema);
  const fields = fieldsOf(verb, op);
  const programs = snippetView(verb, path, op, fields.values);
  return el('div.body', {},
    op.description ? el('p', {}, op.description) : '',
    bodies.map(([media, c]) => [el('h3', {}, 'Body · ' + media), schemaView(c.schema)]),
    el('h3', {}, 'Example'), programs.view,
    el('h3', {}, 'Answers'),
    el('table', {}, Object.entries(op.responses || {}).map(([status, r]) => el('tr', {},
      el('th', { scope: 'row' }, el('span.status.' + (status < '4' ? 'good' : 'bad'), {}, status)),
      el('td', {}, r.description || '', Object.entries(r.content || {}).map(([media, c]) => el('div', {},
        el('span.faint', {}, media),
        c.schema ? schemaView(c.schema) : '',
        c.example !== undefined && status < '4' ? exampleView(`Example of answer ${status}`, c.example) : '')))))),
    el('h3', {}, 'Try it'), tryView(verb, path, op, fields, programs.draw));
}
