// Finds elements as people name them. The function runs in the page, so it refers to nothing outside of itself; what its
// steps mean is what Playwright's locators of the same names mean, as far as our tests use them.

/** All elements that the steps lead to, in the order of the document. */
export function find(steps) {
  const tidy = (text) => text.replace(/\s+/g, " ").trim();
  const pattern = ({ source, flags }) => new RegExp(source, flags);
  /** Whether a text is what was asked for: a pattern, a part, or exactly it. */
  const says = (text, want, exact) => {
    if (want.source !== undefined) return pattern(want).test(text);
    return exact ? tidy(text) === tidy(want.text) : tidy(text).toLowerCase().includes(tidy(want.text).toLowerCase());
  };

  const isDrawn = (e) => e.checkVisibility?.({ checkVisibilityCSS: true }) ?? true;
  const isHidden = (e) => e.closest("[aria-hidden=true]") !== null || (!isDrawn(e) && getComputedStyle(e).display !== "contents");

  const textOf = (e) => {
    if (/^(SCRIPT|STYLE|NOSCRIPT)$/.test(e.nodeName)) return "";
    if (e.nodeName === "INPUT" && /^(submit|button)$/.test(e.type)) return e.value;
    return [...e.childNodes].map((node) => (node.nodeType === 3 ? node.data : node.nodeType === 1 ? textOf(node) : "")).join("");
  };
  /** Texts that are the element's own, each up to the next element in it. */
  const pieces = (e) => {
    const found = [""];
    for (const node of e.childNodes) {
      if (node.nodeType === 3) found[found.length - 1] += node.data;
      else if (node.nodeType === 1) found.push("");
    }
    return found.map(tidy).filter(Boolean);
  };

  const fields = { checkbox: "checkbox", radio: "radio", range: "slider", number: "spinbutton", search: "searchbox" };
  const roles = {
    A: (e) => (e.hasAttribute("href") ? "link" : ""),
    BUTTON: () => "button",
    INPUT: (e) => (/^(button|submit|reset|image)$/.test(e.type) ? "button" : e.type === "file" ? "" : (fields[e.type] ?? "textbox")),
    TEXTAREA: () => "textbox",
    SELECT: (e) => (e.multiple || e.size > 1 ? "listbox" : "combobox"),
    OPTION: () => "option",
    UL: () => "list",
    OL: () => "list",
    LI: () => "listitem",
    NAV: () => "navigation",
    ASIDE: () => "complementary",
    MAIN: () => "main",
    ARTICLE: () => "article",
    SECTION: (e) => (nameOf(e, "region") ? "region" : ""),
    FORM: (e) => (nameOf(e, "form") ? "form" : ""),
    DIALOG: () => "dialog",
    FIELDSET: () => "group",
    DETAILS: () => "group",
    IMG: (e) => (e.getAttribute("alt") === "" ? "" : "img"),
    TABLE: () => "table",
    TR: () => "row",
    TD: (e) => (e.closest("[role=grid]") ? "gridcell" : "cell"),
    TH: (e) => (e.scope === "row" ? "rowheader" : "columnheader"),
    PROGRESS: () => "progressbar",
    OUTPUT: () => "status",
  };
  const roleOf = (e) => {
    const given = e.getAttribute("role");
    if (given) return given.split(" ")[0];
    return /^H[1-6]$/.test(e.tagName) ? "heading" : (roles[e.tagName]?.(e) ?? "");
  };
  const byContent = /^(button|link|heading|cell|gridcell|option|tab|row|rowheader|columnheader|checkbox|radio|menuitem|menuitemcheckbox|menuitemradio|switch|treeitem|tooltip)$/;
  /** What is read out of an element, without what is hidden. */
  const content = (e) =>
    [...e.childNodes]
      .map((node) => {
        if (node.nodeType === 3) return node.data;
        if (node.nodeType !== 1 || node.getAttribute("aria-hidden") === "true" || !isDrawn(node)) return "";
        const said = node.getAttribute("aria-label") ?? node.getAttribute("alt") ?? content(node);
        return getComputedStyle(node).display.startsWith("inline") ? said : ` ${said} `;
      })
      .join("");
  const named = (e) =>
    (e.getAttribute("aria-labelledby") ?? "")
      .split(/\s+/)
      .map((id) => id && document.getElementById(id))
      .filter(Boolean);
  function nameOf(e, role) {
    const by = named(e);
    if (by.length > 0) return tidy(by.map((one) => one.getAttribute("aria-label") ?? textOf(one)).join(" "));
    const label = e.getAttribute("aria-label");
    if (label?.trim()) return tidy(label);
    if (e.labels?.length > 0) return tidy([...e.labels].map(content).join(" "));
    if (e.tagName === "IMG" && e.alt) return tidy(e.alt);
    if (e.tagName === "INPUT" && /^(submit|button|reset)$/.test(e.type)) return e.value;
    const first = { FIELDSET: "legend", TABLE: "caption", DETAILS: "summary" }[e.tagName];
    const within = first && [...e.children].find((child) => child.tagName === first.toUpperCase());
    if (within) return tidy(content(within));
    const said = byContent.test(role) ? tidy(content(e)) : "";
    return said || tidy(e.getAttribute("title") ?? e.getAttribute("placeholder") ?? "");
  }
  const labelsOf = (e) => {
    const by = named(e);
    if (by.length > 0) return by.map(textOf);
    const label = e.getAttribute("aria-label");
    return label?.trim() ? [label] : [...(e.labels ?? [])].map(textOf);
  };

  const kinds = {
    css: (e, { css }) => e.matches(css),
    role: (e, { role, name, exact, level }) =>
      roleOf(e) === role &&
      !isHidden(e) &&
      (level === undefined || e.tagName === `H${level}`) &&
      (name === undefined || says(nameOf(e, role), name, exact)),
    label: (e, { want, exact }) => labelsOf(e).some((text) => says(text, want, exact)),
    text: (e, { want, exact }) => {
      if (/^(SCRIPT|STYLE|NOSCRIPT|HEAD|TITLE|META|HTML)$/.test(e.tagName)) return false;
      const isIt = (one) => (exact ? pieces(one).some((text) => text === tidy(want.text)) : says(tidy(textOf(one)), want));
      return isIt(e) && ![...e.children].some(isIt);
    },
  };
  const within = (roots, step) => {
    if (step.kind === "chooser") return [globalThis.castaliaChooser].filter(Boolean);
    if (step.kind === "css" && step.css === "..") return [...new Set(roots.map((e) => e.parentElement).filter(Boolean))];
    if (step.kind === "nth") return [roots.at(step.n)].filter(Boolean);
    if (step.kind === "and") return roots.filter((e) => find(step.steps).includes(e));
    if (step.kind === "filter") {
      const { hasText, has } = step;
      return roots.filter((e) => (!hasText || says(tidy(textOf(e)), hasText)) && (!has || search([e], has).length > 0));
    }
    const query = step.kind === "css" && !step.css.startsWith(":scope") ? step.css : "*";
    if (step.kind === "css" && query === "*") return roots.flatMap((root) => [...root.querySelectorAll(step.css)]);
    // A text may be all that an element has; then it is that element.
    const selves = step.kind === "text" ? roots.filter((root) => root !== document) : [];
    const found = new Set([...selves, ...roots.flatMap((root) => [...root.querySelectorAll(query)])]);
    return [...found].filter((e) => kinds[step.kind](e, step));
  };
  const inOrder = (found) => found.sort((a, b) => (a === b ? 0 : a.compareDocumentPosition(b) & 4 ? -1 : 1));
  function search(roots, steps) {
    let found = roots;
    for (const step of steps) {
      const next = step.kind === "or" ? [...new Set([...found, ...search(roots, step.steps)])] : within(found, step);
      found = step.kind === "nth" ? next : inOrder(next);
    }
    return found;
  }
  return search([document], steps);
}

/** Whether somebody could see it. Runs in the page, too. */
export function isSeen(e) {
  const { width, height } = e.getBoundingClientRect();
  return width > 0 && height > 0 && (e.checkVisibility?.({ checkVisibilityCSS: true }) ?? true);
}
