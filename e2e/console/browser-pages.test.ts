import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { RestTransport } from '@multiplane/client';
import { eventually } from '@multiplane/testing';
import type { ConsolePage } from '../harness/console-page.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { testTokens } from '../harness/local-cluster.ts';
import { startControlPlane } from '../harness/start-control-plane.ts';
import { describeWithWebBrowser, WebBrowser } from '../harness/web-browser.ts';
import { demoContent } from './demo-content.ts';

const images = join(import.meta.dirname, '..', '..', 'docs', 'images');
/** `MULTIPLANE_SCREENSHOTS=1`: this suite writes the pictures of docs/console.md. */
const writesImages = process.env['MULTIPLANE_SCREENSHOTS'] === '1';

const databases = '/w/root:shop/resources/data.example.com/v1/databases';

/** Every page; those with a picture are in the documentation. */
const shown: readonly (readonly [name: string, path: string, picture?: 'light' | 'dark'])[] = [
  ['workspaces', '/w/root/workspaces', 'light'],
  ['catalogue', '/w/root:shop/catalogue'],
  ['catalogue-export', '/w/root:lab/catalogue/root:maker/databases', 'light'],
  ['resources', '/w/root:shop/resources'],
  ['resource-list', databases, 'light'],
  ['object', `${databases}/orders?namespace=default`],
  ['object-yaml', `${databases}/orders?namespace=default&tab=yaml`, 'dark'],
  ['object-related', `${databases}/orders?namespace=default&tab=related`],
  ['object-events', `${databases}/orders?namespace=default&tab=events`],
  ['object-fields', `${databases}/orders?namespace=default&tab=fields`],
  ['provider', '/w/root:maker/provider'],
  ['provider-empty', '/w/root:lab/provider'],
  ['provider-export', '/w/root:maker/provider/databases', 'light'],
  ['provider-resources', '/w/root:maker/provider/databases?tab=resources'],
  ['provider-endpoints', '/w/root:maker/provider/databases?tab=endpoints'],
  ['provider-scopes', '/w/root:maker/provider/databases?tab=scopes'],
  ['access', '/w/root:shop/access'],
  ['access-denied', '/w/root:shop/access?tab=denied'],
  ['access-credentials', '/w/root:shop/access?tab=credentials'],
  ['operator', '/operator', 'light'],
  ['operator-pending', '/operator?tab=pending'],
  ['operator-tenants', '/operator?tab=tenants'],
  ['operator-flow', '/operator?tab=flow'],
];

describeWithWebBrowser('pages of the console', (command) => {
  let browser: WebBrowser;
  let control: ControlPlane;
  let admin: RestTransport;
  let opened: ConsolePage;

  beforeAll(async () => {
    // Workspaces with contents of their own; the console of a shared control plane would list those of other suites.
    control = await startControlPlane({ ownProcesses: true });
    admin = control.transport('root');
    await demoContent(admin);
    browser = await WebBrowser.start(command);
    opened = await browser.newPage({ url: control.url });
    await opened.logIn(testTokens.masters, '/w/root/workspaces');
  }, 240_000);

  afterAll(async () => {
    admin?.close();
    await browser?.[Symbol.asyncDispose]();
    await control?.[Symbol.asyncDispose]();
  });

  afterEach(() => {
    // oxlint-disable-next-line jest/no-standalone-expect -- of each test
    expect(opened.problems.splice(0)).toEqual([]);
  });

  test.each(shown)('%s: nothing that axe finds, in both themes', async (...row) => {
    const [name, path, picture] = row;
    await opened.visit(path);
    await opened.settled();
    const findings: string[] = [];
    for (const theme of ['light', 'dark'] as const) {
      await opened.setTheme(theme);
      // A theme changes colours and nothing else.
      const found = await opened.accessibilityFindings(theme === 'light' ? undefined : ['color-contrast']);
      findings.push(...found.map((finding) => `${theme}: ${finding}`));
      if (!writesImages || picture !== theme) continue;
      mkdirSync(images, { recursive: true });
      await opened.screenshot(join(images, `console-${name}.png`));
    }
    expect(findings).toEqual([]);
  });

  test('the chain of authorizers, and the wizard for a role', async () => {
    const { page } = opened;
    await opened.setTheme('light');
    await opened.visit('/w/root:shop/access?tab=denied');
    await page.getByLabel('User', { exact: true }).fill('sam');
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByText('no verb=access permission on /').waitFor();
    expect(await opened.accessibilityFindings()).toEqual([]);
    if (writesImages) await opened.screenshot(join(images, 'console-access-denied.png'));
    await page.getByRole('button', { name: 'Grant a role' }).click();
    expect(await opened.accessibilityFindings()).toEqual([]);
    await page.keyboard.press('Escape');
  });

  test('what tenants write is text on every page', async () => {
    const { page } = opened;
    for (const [, path] of shown) {
      await opened.visit(path.replaceAll('root:shop', 'root:hostile').replaceAll('root:maker', 'root:hostile'));
      await opened.settled();
    }
    const list = '/w/root:hostile/resources/hostile.example.com/v1/scripts';
    for (const path of [
      list,
      ...['overview', 'yaml', 'related', 'events', 'fields'].map((tab) => `${list}/one?namespace=default&tab=${tab}`),
      '/w/root:hostile/resources/rbac.authorization.k8s.io/v1/clusterroles',
      '/w/root:hostile/catalogue/root:hostile/scripts',
      '/w/root:hostile/provider/scripts',
      '/w/root:hostile/provider/scripts?tab=resources',
      '/w/root:hostile/access',
    ]) {
      await opened.visit(path);
      await opened.settled();
    }
    // What is on the screen is the text itself.
    await page.getByText('<img src=x onerror=alert(1)>').first().waitFor();
    expect(await page.evaluate('globalThis.hacked')).toBeUndefined();
    expect(await page.locator('img, iframe, object, embed, a[href^="javascript:"]').count()).toBe(0);
  });

  test('ten thousand rows: as many are counted, few are in the page, and the last one can be reached', async () => {
    const { page } = opened;
    const rows = 10_000;
    await manyConfigMaps(admin, 'root:lab', rows);
    await opened.visit('/w/root:lab/resources/core/v1/configmaps?namespace=many');
    const table = page.getByRole('table', { name: 'ConfigMap' });
    // One more for the root certificates that each namespace has, and one for the titles.
    await eventually(async () => expect(Number(await table.getAttribute('aria-rowcount'))).toBeGreaterThan(rows), {
      timeout: 30_000,
    });
    expect(await table.locator('tbody tr').count()).toBeLessThan(100);
    await page.getByRole('button', { name: 'Name', exact: true }).click();
    await page.locator('.table-scroller').evaluate('(element) => element.scrollTo(0, element.scrollHeight)');
    await page.getByText(/^(row-0*9999|row-00000)$/).waitFor();
  }, 120_000);
});

async function manyConfigMaps(admin: RestTransport, cluster: string, count: number): Promise<void> {
  const create = (path: string, body: object): Promise<unknown> =>
    admin.json({ method: 'POST', path: `/clusters/${cluster}/api/v1/${path}`, body: JSON.stringify(body) });
  await create('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'many' } });
  const names = Array.from({ length: count }, (_, index) => `row-${String(index).padStart(5, '0')}`);
  const work = async (): Promise<void> => {
    for (let name = names.pop(); name !== undefined; name = names.pop())
      await create('namespaces/many/configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
  };
  await Promise.all(Array.from({ length: 32 }, work));
}
