// Small things that both parts of the page use. Text enters it as text, never as HTML.

/** What all routes share: the document, the DID of the service, the language last chosen. */
export const shared = { doc: {}, did: '', language: 'curl' };

export const byId = (id) => document.getElementById(id);

// el('p.faint', {title: 'x'}, 'text', child, …)
export function el(spec, attrs, ...children) {
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

/** A block of code with a button that copies it. text() is asked when it is pressed. */
export function codeBlock(label) {
  const code = el('pre', { tabindex: '0', 'aria-label': label, role: 'region' });
  const button = el('button.plain.copy', { type: 'button', 'aria-label': `Copy: ${label}` }, 'Copy');
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = 'Copied';
    } catch { // no secure context, or not allowed: the reader can copy what is selected
      getSelection().selectAllChildren(code);
      button.textContent = 'Selected';
    }
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });
  return { code, view: el('div.code', {}, code, button) };
}

let tabsMade = 0;

/** Tabs as screen readers and keyboards know them: arrows move, one tab stop. */
export function tabList(label, names, chosen, onChoose) {
  const id = `tabs${++tabsMade}`;
  const panel = el('div', { role: 'tabpanel', id: `${id}-panel` });
  const tabs = names.map(([value, title]) => el('button.tab', { type: 'button', role: 'tab', id: `${id}-${value}`, 'aria-controls': panel.id }, title));
  function choose(i, focus) {
    tabs.forEach((tab, n) => {
      tab.setAttribute('aria-selected', String(n === i));
      tab.tabIndex = n === i ? 0 : -1;
    });
    panel.setAttribute('aria-labelledby', tabs[i].id);
    if (focus) tabs[i].focus();
    onChoose(names[i][0]);
  }
  tabs.forEach((tab, i) => {
    tab.addEventListener('click', () => choose(i, false));
    tab.addEventListener('keydown', (event) => {
      const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      choose((to + tabs.length) % tabs.length, true);
    });
  });
  return { panel, view: el('div', {}, el('div.tabs', { role: 'tablist', 'aria-label': label }, tabs), panel), start: () => choose(Math.max(0, names.findIndex(([v]) => v === chosen)), false) };
}
