/**
 * Puts a text on the clipboard, and tells whether it is there. Browsers have an
 * interface for that only on https and localhost; elsewhere a selection is
 * copied, as it was done before.
 */
export async function copyText(text: string): Promise<boolean> {
  // The types promise what is not there on a plain address.
  const clipboard = navigator.clipboard as Clipboard | undefined;
  if (clipboard) {
    await clipboard.writeText(text);
    return true;
  }
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "castalia-hidden";
  const focused = document.activeElement;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return isCopied;
}
