import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import type { Page, Locator } from 'playwright-core';

const require = createRequire(import.meta.url);
const axePath = require.resolve('axe-core/axe.min.js');
let axeSource: string | undefined;

/** Runs in each page before anything else. */
const reporter = `addEventListener('securitypolicyviolation', (event) => void reportViolation(
  event.violatedDirective + ' ' + event.blockedURI + ' at ' + event.sourceFile + ':' + event.lineNumber))`;

interface Finding {
  readonly id: string;
  readonly impact?: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/**
 * A page of the console in a browser. What no page of the console may do is collected in `problems`: open a dialog, break its own content
 * security policy, throw an error that nothing handles, or ask another host.
 */
export class ConsolePage implements AsyncDisposable {
  readonly page: Page;
  readonly url: string;
  readonly problems: string[] = [];

  private constructor(page: Page, url: string) {
    this.page = page;
    this.url = url;
  }

  static async open(page: Page, url: string): Promise<ConsolePage> {
    const opened = new ConsolePage(page, url);
    const { problems } = opened;
    page.on('dialog', (dialog) => {
      problems.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('pageerror', (error) => problems.push(`an error: ${error.message}`));
    page.on('request', (request) => {
      const { protocol, origin } = new URL(request.url());
      // Issuers are asked by the browser itself.
      if (protocol !== 'data:' && origin !== url && !request.isNavigationRequest())
        problems.push(`a request to another host: ${request.url()}`);
    });
    await page.exposeFunction('reportViolation', (text: string) => problems.push(`the policy is broken: ${text}`));
    await page.addInitScript({ content: reporter });
    return opened;
  }

  /** Opens a path below /console. */
  async go(path: string): Promise<void> {
    await this.page.goto(`${this.url}/console${path}`, { waitUntil: 'domcontentloaded' });
  }

  /** Logs in by the form of the page; the page that was asked for comes next. */
  async logIn(token: string, path = '/'): Promise<void> {
    await this.go(path);
    await this.page.getByLabel('Bearer token').fill(token);
    await this.page.getByRole('button', { name: 'Log in', exact: true }).click();
    await this.page.getByRole('navigation', { name: 'Main' }).waitFor();
  }

  /** Goes to a page of the running application, without loading it again. */
  async visit(path: string): Promise<void> {
    const target = JSON.stringify(`/console${path}`);
    await this.page.evaluate(`history.pushState(null, '', ${target}); dispatchEvent(new PopStateEvent('popstate'))`);
  }

  /** Resolves when nothing of the page is loading any more. */
  async settled(): Promise<void> {
    await this.page.locator('h1').first().waitFor();
    await this.page.locator('.loading, .progress-line').first().waitFor({ state: 'detached' });
  }

  text(text: string | RegExp): Locator {
    return this.page.getByText(text);
  }

  /** For the documentation. */
  async screenshot(file: string): Promise<void> {
    // Colours change in a transition, which reduced motion makes one frame long.
    await this.page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    await this.page.screenshot({ path: file, animations: 'disabled', caret: 'hide' });
  }

  async setTheme(theme: 'light' | 'dark'): Promise<void> {
    await this.page.emulateMedia({ colorScheme: theme });
    // Colours change in transitions, which start with the next frame.
    await this.page.evaluate(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
      .then(() => Promise.allSettled(document.getAnimations().map(({ finished }) => finished)))
      .then(() => undefined)`);
  }

  /** What axe finds wrong with the page as it is, one line per rule and element; by all its rules or some of them. */
  async accessibilityFindings(rules?: readonly string[]): Promise<readonly string[]> {
    axeSource ??= readFileSync(axePath, 'utf8');
    await this.page.evaluate(axeSource);
    const { violations } = await this.page.evaluate<{ readonly violations: readonly Finding[] }>(
      `axe.run(document, ${JSON.stringify({ resultTypes: ['violations'], preload: false, ...(rules === undefined ? {} : { runOnly: rules }) })})`,
    );
    return violations.flatMap(({ id, impact, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id} (${impact ?? ''}): ${html.slice(0, 300)} ${failureSummary ?? ''}`),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close();
  }
}
