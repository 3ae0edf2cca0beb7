// Files are chosen in a window of the desktop, which stays open when a driver cannot close it: Firefox opens no second one
// for the same field meanwhile, and of WebKit's the driver is not told. So pages remember what asked for files instead.

/** In every page, before anything else of it: it refers to nothing outside of itself. */
export function keepChooser() {
  const { click } = HTMLInputElement.prototype;
  HTMLInputElement.prototype.click = function () {
    if (this.type === "file") globalThis.castaliaChooser = this;
    else click.call(this);
  };
}

/** What Playwright gives for the event "filechooser", in a page that remembers. */
export async function chooserOf(page) {
  // What asked before, and was given nothing, is not what is waited for.
  await page.evaluate(() => void (globalThis.castaliaChooser = undefined));
  const field = await page.waitForFunction(() => globalThis.castaliaChooser);
  return {
    async setFiles(files) {
      await page.evaluate(() => void (globalThis.castaliaChooser = undefined));
      await field.setInputFiles(files);
    },
  };
}
