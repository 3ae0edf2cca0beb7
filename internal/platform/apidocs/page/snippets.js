// Requests as programs: pure functions of the OpenAPI document, used by the page and by the
// test that runs what they write.

export const languages = [
  ['curl', 'curl'],
  ['javascript', 'JavaScript'],
  ['go', 'Go'],
  ['python', 'Python'],
];

/** What a text body of a media type looks like when no type describes it. */
const boundary = 'castalia-example';
const plain = {
  '*/*': { type: 'text/plain', body: 'Hello from Castalia\n' },
  'application/offset+octet-stream': { body: 'Hello from Castalia\n' },
  'application/vnd.ipld.car': { file: 'archive.car' },
  'multipart/form-data': {
    type: `multipart/form-data; boundary=${boundary}`,
    body: `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="hello.txt"\r\nContent-Type: text/plain\r\n\r\nHello from Castalia\r\n--${boundary}--\r\n`,
  },
};

/** The media types of a request's body, those that are easiest to write first. */
export function mediaOf(op) {
  const last = 'multipart/form-data';
  return Object.keys(op.requestBody?.content || {}).sort((a, b) => (a === last) - (b === last));
}

/** The example body of a media type: its text, its Content-Type and, instead of a text, a file. */
export function bodyOf(op, media) {
  const example = op.requestBody?.content?.[media]?.example;
  if (example === undefined) return { type: media, body: '', ...plain[media] };
  if (media !== 'application/x-www-form-urlencoded') return { type: media, body: JSON.stringify(example, null, 2) };
  const form = Object.entries(example).map(([k, v]) => [k, String(v)]);
  return { type: media, body: new URLSearchParams(form).toString() };
}

/** Which credential a route takes: 'ucan', 'appKey', 'operator' or nothing. */
export function credentialOf(op) {
  if ((op['x-auth'] || 'public') === 'public') return '';
  const scheme = Object.keys(op.security?.[0] || {})[0];
  return scheme === 'operator' || scheme === 'ucan' ? scheme : 'appKey';
}

// What a token of an operator must be able to do, by the role that a route wants.
const abilities = { viewer: 'operator/view', operator: 'operator/change', owner: 'operator/own' };

const reads = (verb) => ['get', 'head', 'options'].includes(verb);

/** The commands that make the credential of a route, for a shell. */
export function credentialCommands({ verb, op, origin, did }) {
  const invoke = (can, to) => `export CASTALIA_TOKEN=$(castalia ucan invoke --key me.key --audience ${did} --can '${can}' --with ${to})`;
  const own = 'castalia key new --out me.key    # once; it prints your DID';
  switch (credentialOf(op)) {
    case 'appKey': {
      const [name, can] = op['x-right'] === 'files' ? ['my-files', 'files:write'] : ['my-program', 'oracle'];
      return `${own}\nexport CASTALIA_TOKEN=$(castalia key app --server ${origin} --key me.key --for ${name} --can ${can})    # it is shown once`;
    }
    case 'operator': {
      const role = op['x-role'];
      return `${own}\ncastalia operators add --role ${role} "$(castalia key show me.key)"    # once, at the server\n${invoke(abilities[role], 'ixo:operator')}`;
    }
    case 'ucan':
      return `${own}\n${op['x-right'] === 'files' ? invoke(reads(verb) ? 'fs/read' : 'fs/*', '"vfs:///$(castalia key show me.key)"') : invoke('*', 'ixo:oracle')}`;
  }
  return '';
}

/**
 * One request. values has what somebody typed, by place and name ('query limit'), and their
 * media type and body; what they left empty is the example where it is required.
 */
export function requestOf({ origin, verb, path, op, values = {} }) {
  let target = path;
  const query = new URLSearchParams();
  const headers = [];
  for (const p of op.parameters || []) {
    const given = values[`${p.in} ${p.name}`];
    const example = p.required || (p['x-shown'] && given === undefined) ? String(p.example ?? '') : '';
    const value = given || example;
    if (p.in === 'path') target = target.replace(`{${p.name}}`, () => segments(value, p['x-rest']));
    else if (value === '') continue;
    else if (p.in === 'query') query.append(p.name, value);
    else if (p.in === 'header') headers.push([p.name, value]);
  }
  const credential = credentialOf(op);
  if (credential === 'ucan' || credential === 'operator') headers.unshift(['X-Auth-Type', 'ucan']);
  const request = { method: verb.toUpperCase(), headers, credential, stream: Boolean(op['x-stream']) };
  request.url = origin + target + (query.size ? `?${query}` : '');
  const media = values.media || mediaOf(op)[0];
  if (media && !reads(verb) && verb !== 'delete') {
    const body = bodyOf(op, media);
    request.headers.push(['Content-Type', body.type || media]);
    if (body.file) request.file = body.file;
    else request.body = values.body ?? body.body;
  }
  return request;
}

/** A value in a path: the rest of a path keeps its slashes. */
function segments(value, rest) {
  return rest ? value.replace(/^\//, '').split('/').map(encodeURIComponent).join('/') : encodeURIComponent(value);
}

const shell = (s) => `'${s.replaceAll("'", "'\\''")}'`;
const text = (s) => JSON.stringify(s);
const go = (s) => (/[`\r]/.test(s) || !s.includes('\n') ? text(s) : '`' + s + '`');
const python = (s) => text(s).replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

const writers = {
  curl(r) {
    const method = r.method === 'HEAD' ? ' --head' : r.method === 'GET' ? '' : ` -X ${r.method}`;
    const lines = [`curl -i${r.stream ? 'N' : ''}${method} ${shell(r.url)}`];
    if (r.credential) lines.push('-H "Authorization: Bearer $CASTALIA_TOKEN"');
    for (const [name, value] of r.headers) lines.push(`-H ${shell(`${name}: ${value}`)}`);
    if (r.file) lines.push(`--data-binary @${r.file}`);
    else if (r.body !== undefined) lines.push(`--data-raw ${shell(r.body)}`); // the others read a file where a body begins with @
    return lines.join(' \\\n  ') + '\n';
  },

  javascript(r) {
    const headers = r.headers.map(([name, value]) => `    ${text(name)}: ${text(value)},\n`);
    if (r.credential) headers.unshift('    Authorization: `Bearer ${process.env.CASTALIA_TOKEN}`,\n');
    const init = [`  method: ${text(r.method)},\n`];
    if (headers.length) init.push(`  headers: {\n${headers.join('')}  },\n`);
    if (r.file) init.push(`  body: await readFile(${text(r.file)}),\n`);
    else if (r.body !== undefined) init.push(`  body: ${text(r.body)},\n`);
    const read = r.stream ? 'for await (const part of reply.body ?? []) process.stdout.write(part);' : 'console.log(await reply.text());';
    return `${r.file ? 'import { readFile } from "node:fs/promises";\n\n' : ''}const reply = await fetch(${text(r.url)}, {\n${init.join('')}});\nconsole.log(reply.status);\n${read}\n`;
  },

  go(r) {
    const body = r.file ? 'body' : r.body !== undefined ? `strings.NewReader(${go(r.body)})` : 'nil';
    const imports = ['fmt', 'io', 'log', 'net/http', 'os', ...(r.body !== undefined && !r.file ? ['strings'] : [])];
    const headers = r.headers.map(([name, value]) => `\trequest.Header.Set(${text(name)}, ${text(value)})\n`);
    if (r.credential) headers.unshift('\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("CASTALIA_TOKEN"))\n');
    const open = r.file ? `\tbody, err := os.Open(${text(r.file)})\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n` : '';
    return `package main

import (
${imports.map((i) => `\t${text(i)}\n`).join('')})

func main() {
${open}\trequest, err := http.NewRequest(${text(r.method)}, ${text(r.url)}, ${body})
\tif err != nil {
\t\tlog.Fatal(err)
\t}
${headers.join('')}\treply, err := http.DefaultClient.Do(request)
\tif err != nil {
\t\tlog.Fatal(err)
\t}
\tdefer reply.Body.Close()
\tfmt.Println(reply.StatusCode)
\tif _, err := io.Copy(os.Stdout, reply.Body); err != nil {
\t\tlog.Fatal(err)
\t}
}
`;
  },

  python(r) {
    const headers = r.headers.map(([name, value]) => `        ${python(name)}: ${python(value)},\n`);
    if (r.credential) headers.unshift('        "Authorization": "Bearer " + os.environ["CASTALIA_TOKEN"],\n');
    const given = [`    ${python(r.url)},\n`, `    method=${python(r.method)},\n`];
    if (headers.length) given.push(`    headers={\n${headers.join('')}    },\n`);
    if (r.file) given.push(`    data=open(${python(r.file)}, "rb").read(),\n`);
    else if (r.body !== undefined) given.push(`    data=${python(r.body)}.encode(),\n`);
    return `${r.credential ? 'import os\n' : ''}import shutil
import sys
import urllib.error
import urllib.request

request = urllib.request.Request(
${given.join('')})
try:
    reply = urllib.request.urlopen(request)
except urllib.error.HTTPError as refused:
    reply = refused  # the body says why
print(reply.status, flush=True)
shutil.copyfileobj(reply, sys.stdout.buffer)
`;
  },
};

/** The request as a program. */
export function snippet(language, request) {
  return writers[language](request);
}

/** Every operation of a document. */
export function operations(doc) {
  const verbs = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options'];
  return Object.entries(doc.paths).flatMap(([path, item]) => verbs.filter((v) => item[v]).map((verb) => ({ verb, path, op: item[verb] })));
}
