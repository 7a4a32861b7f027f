import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { ConsolePage } from '../harness/console-page.ts';
import { ConsoleProcess } from '../harness/console-process.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { testTokens } from '../harness/local-cluster.ts';
import { startControlPlane, topologyName } from '../harness/start-control-plane.ts';
import { describeWithWebBrowser, WebBrowser, type PageOptions } from '../harness/web-browser.ts';

const isSharded = topologyName === 'sharded';

describeWithWebBrowser('the console in a web browser', (command) => {
  let browser: WebBrowser;
  let control: ControlPlane;
  let own: ConsoleProcess | undefined;
  let url: string;
  const pages: ConsolePage[] = [];

  beforeAll(async () => {
    browser = await WebBrowser.start(command);
    control = await startControlPlane();
    own = isSharded ? await ConsoleProcess.start(control) : undefined;
    url = (own ?? control).url;
  }, 240_000);

  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await own?.[Symbol.asyncDispose]();
    await control?.[Symbol.asyncDispose]();
  });

  const newPage = async (options: Omit<PageOptions, 'url'> = {}): Promise<ConsolePage> => {
    const page = await browser.newPage({ url, ...options });
    pages.push(page);
    return page;
  };

  afterEach(async () => {
    const problems = pages.flatMap((page) => page.problems);
    await Promise.all(pages.splice(0).map((page) => page[Symbol.asyncDispose]()));
    expect(problems).toEqual([]);
  });

  test('by token: a wrong one is refused with a reason, the right one leads to the page that was asked for', async () => {
    const page = await newPage();
    await page.go('/w/root/workspaces');
    await page.page.getByLabel('Bearer token').fill('made-up');
    await page.page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.text('does not accept this token').waitFor();
    await page.logIn(testTokens.masters, '/w/root/workspaces');
    await page.page.getByRole('heading', { name: 'Workspaces', exact: true }).waitFor();
  });
});
