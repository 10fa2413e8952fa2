import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** Nothing that Chromium does of its own accord leaves the machine; no sandbox, so that it runs as root too. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** CHROMIUM, or the first on the path. Throws where there is none: a test that did not look at the page has not passed. */
function findChromium(): string {
  const { CHROMIUM: given, PATH: path = '' } = process.env;
  if (given !== undefined && given !== '') return given;
  for (const directory of path.split(delimiter)) {
    for (const name of NAMES) {
      const file = join(directory, name);
      try {
        accessSync(file, constants.X_OK);
        return file;
      } catch {
        // Not here.
      }
    }
  }
  throw new Error(
    'these tests need Chromium: install it (Debian: apt-get install chromium), or set CHROMIUM to its file',
  );
}

export function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: findChromium(), args: ARGUMENTS });
}

/** A page that notes whatever it should not do. */
export interface WatchedPage extends AsyncDisposable {
  readonly page: Page;
  /** Messages on the console, errors of scripts, dialogs, and requests for anything but the file itself. */
  readonly complaints: string[];
}

export async function openFile(
  browser: Browser,
  file: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  const url = `file://${file}`;
  page.on('console', (message) => complaints.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (request.url() !== url) complaints.push(`request: ${request.url()}`);
  });
  await page.goto(url);
  return { page, complaints, [Symbol.asyncDispose]: () => context.close() };
}
