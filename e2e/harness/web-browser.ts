import { chromium, type Browser, type BrowserContextOptions } from 'playwright-core';
import { findBinary } from '@multiplane/testing';
import { ConsolePage } from './console-page.ts';
import { describeWith, programOnPath, type Found } from './foreign-program.ts';

const names = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];

function findWebBrowser(): Found {
  for (const name of names) {
    const found = programOnPath(name, '--version');
    if ('command' in found) return found;
  }
  return { problem: `no browser is on the PATH (${names.join(', ')}); install Debian's chromium` };
}

/** `describe` for tests in a web browser; where there is none, one skipped test tells the reason. */
export const describeWithWebBrowser = (name: string, tests: (command: string) => void): void =>
  describeWith(findWebBrowser(), name, tests);

export interface PageOptions {
  readonly url: string;
  readonly theme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
}

/** One Chromium without a window; each page has cookies and a storage of its own. */
export class WebBrowser implements AsyncDisposable {
  readonly #browser: Browser;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async start(command: string): Promise<WebBrowser> {
    const isRoot = process.getuid?.() === 0;
    const browser = await chromium.launch({
      executablePath: findBinary(command),
      args: [
        '--disable-gpu',
        '--disable-dev-shm-usage',
        '--disable-background-networking',
        '--disable-component-update',
        // What the console would load from elsewhere fails, on machines with a network too.
        '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
      ],
      // The sandbox of Chromium does not run as root.
      chromiumSandbox: !isRoot,
    });
    return new WebBrowser(browser);
  }

  /** A page of a user of its own. */
  async newPage({ url, theme = 'light', width = 1280, height = 800 }: PageOptions): Promise<ConsolePage> {
    const options: BrowserContextOptions = {
      // The certificate authority of a test is in no store.
      ignoreHTTPSErrors: true,
      colorScheme: theme,
      viewport: { width, height },
      reducedMotion: 'reduce',
      locale: 'en-GB',
      timezoneId: 'UTC',
      permissions: ['clipboard-read', 'clipboard-write'],
    };
    const context = await this.#browser.newContext(options);
    // Of the browser; the test ends before that with a message of its own.
    context.setDefaultTimeout(50_000);
    return ConsolePage.open(await context.newPage(), url);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
  }
}
