import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { RestTransport } from '@multiplane/client';
import { eventually, TcpProxy, TempDir } from '@multiplane/testing';
import type { ConsolePage } from '../harness/console-page.ts';
import { configureIssuers } from '../harness/console-issuers.ts';
import { ConsoleProcess } from '../harness/console-process.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { testTokens } from '../harness/local-cluster.ts';
import { OidcProvider } from '../harness/oidc-provider.ts';
import { startControlPlane, topologyName } from '../harness/start-control-plane.ts';
import { describeWithWebBrowser, WebBrowser } from '../harness/web-browser.ts';
import { createWorkspace, grantAccess } from '../harness/workspaces.ts';

const multiplane = join(import.meta.dirname, '..', '..', 'bin', 'multiplane');
const isSharded = topologyName === 'sharded';
const apis = 'apis/apis.kcp.io';

describeWithWebBrowser('the console in a web browser', (command) => {
  let browser: WebBrowser;
  let directory: TempDir;
  let provider: OidcProvider;
  let control: ControlPlane;
  let own: ConsoleProcess | undefined;
  /** A console whose sessions end soon. */
  let hasty: ConsoleProcess;
  let admin: RestTransport;
  let at: { readonly url: string; readonly ca: string };
  const pages: ConsolePage[] = [];

  beforeAll(async () => {
    directory = await TempDir.create('console-browser');
    provider = await OidcProvider.start();
    const { consoleFlags, oidcFlags } = configureIssuers(directory, provider, { staff: 'Staff' });
    control = await startControlPlane({
      ownProcesses: true,
      ...(isSharded
        ? { frontProxyFlags: [...oidcFlags, '--feature-gates=WorkspaceAuthentication=true'] }
        : { flags: [...oidcFlags, ...consoleFlags] }),
    });
    own = isSharded ? await ConsoleProcess.start(control, consoleFlags) : undefined;
    at = own ?? control;
    hasty = await ConsoleProcess.start(control, ['--console-session-lifetime=4s']);
    browser = await WebBrowser.start(command);
    admin = control.transport('root');
    await createWorkspace(admin, 'root', 'team');
    await grantAccess(admin, 'root:team', ['user-1', 'user-2']);
  }, 240_000);

  afterAll(async () => {
    admin?.close();
    await browser?.[Symbol.asyncDispose]();
    await hasty?.[Symbol.asyncDispose]();
    await own?.[Symbol.asyncDispose]();
    await control?.[Symbol.asyncDispose]();
    await provider?.[Symbol.asyncDispose]();
    await directory?.remove();
  });

  const newPage = async (url = at.url): Promise<ConsolePage> => {
    const opened = await browser.newPage({ url });
    pages.push(opened);
    return opened;
  };
  /** A page of the administrator of everything. */
  const adminPage = async (path: string): Promise<ConsolePage> => {
    const opened = await newPage();
    await opened.logIn(testTokens.masters, path);
    return opened;
  };

  afterEach(async () => {
    const problems = pages.flatMap((opened) => opened.problems);
    await Promise.all(pages.splice(0).map((opened) => opened[Symbol.asyncDispose]()));
    // oxlint-disable-next-line jest/no-standalone-expect -- of each test
    expect(problems).toEqual([]);
  });

  const post = (path: string, body: object): Promise<unknown> =>
    admin.json({ method: 'POST', path, body: JSON.stringify(body) });
  const get = async <T>(path: string): Promise<T> => (await admin.json({ method: 'GET', path })) as T;
  const merge = (path: string, body: object): Promise<unknown> =>
    admin.json({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body: JSON.stringify(body) });
  const configMaps = '/clusters/root:team/api/v1/namespaces/default/configmaps';
  const configMap = (name: string, data: object): Promise<unknown> =>
    post(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data });
  const listPath = '/w/root:team/resources/core/v1/configmaps';
  const objectPath = (name: string, tab: string): string => `${listPath}/${name}?namespace=default&tab=${tab}`;

  test('by token: a wrong one is refused with a reason, the right one leads to the page that was asked for', async () => {
    const opened = await newPage();
    const { page } = opened;
    await opened.go('/w/root:team/resources');
    await page.getByLabel('Bearer token').fill('made-up');
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByText('does not accept this token').waitFor();
    await opened.logIn(testTokens.masters, '/w/root:team/resources');
    await page.getByRole('heading', { name: 'Resources', level: 1 }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/w/root:team/resources');
  });

  test('by one-time link, which works once', async () => {
    const ca = directory.join('ca.crt');
    writeFileSync(ca, at.ca);
    const { stdout } = await promisify(execFile)(multiplane, [
      'console-link',
      `--kubeconfig=${control.kubeconfig}`,
      `--console-url=${at.url}`,
      `--console-ca-file=${ca}`,
    ]);
    const path = stdout.trim().slice(`${at.url}/console`.length);
    const opened = await newPage();
    const { page } = opened;
    await opened.go(path);
    await page.getByText('kcp-admin').waitFor();
    await page.getByRole('button').click();
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
    await page.getByRole('button', { name: 'kcp-admin' }).waitFor();
    const other = await newPage();
    await other.go(path);
    await other.text('does not work').waitFor();
    expect(await other.page.getByRole('button').count()).toBe(0);
  });

  test('by an issuer of OpenID Connect, and back to the page that was asked for', async () => {
    const opened = await newPage();
    const { page } = opened;
    await opened.go('/w/root:team/access');
    await page.getByRole('link', { name: 'Log in with Staff' }).click();
    await page.getByRole('button', { name: 'sam' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/w/root:team/access');
  });

  test('a user without rights is told what is missing, on every page', async () => {
    const opened = await newPage();
    const { page } = opened;
    await opened.logIn(testTokens['user-3'], '/w/root:team/workspaces');
    for (const path of ['workspaces', 'catalogue', 'resources', 'provider', 'access']) {
      await opened.visit(`/w/root:team/${path}`);
      await opened.settled();
    }
    await page.getByText('cannot be listed').first().waitFor();
    await opened.visit('/operator');
    expect(await page.getByText('This page is for operators').textContent()).toBeTruthy();
  });

  test('a workspace is created, becomes ready and is deleted', async () => {
    const { page } = await adminPage('/w/root:team/workspaces');
    await page.getByRole('button', { name: 'Create workspace' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('blue');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: /^blue/, level: 1 }).waitFor();
    await page.getByRole('heading', { level: 1 }).getByText('Ready').waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/w/root:team:blue/workspaces');
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Delete the workspace' }).click();
    await page.getByLabel('Type blue to confirm').fill('blue');
    await page.getByRole('button', { name: 'Delete the workspace' }).click();
    await page.getByText('There is no such workspace, or not any more').waitFor();
    await expect(
      admin.json({ method: 'GET', path: '/clusters/root:team/apis/tenancy.kcp.io/v1alpha1/workspaces/blue' }),
    ).rejects.toMatchObject({ code: 404 });
  });

  test('an API is bound with a decision about each claim, and its provider sees the consumer', async () => {
    await createWorkspace(admin, 'root', 'maker');
    await post('/clusters/root:maker/apis/apis.kcp.io/v1alpha1/apiresourceschemas', {
      apiVersion: 'apis.kcp.io/v1alpha1',
      kind: 'APIResourceSchema',
      metadata: { name: 'v1.widgets.example.dev' },
      spec: {
        group: 'example.dev',
        names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' },
        scope: 'Namespaced',
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              type: 'object',
              properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } },
            },
          },
        ],
      },
    });
    await post(`/clusters/root:maker/${apis}/v1alpha2/apiexports`, {
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIExport',
      metadata: { name: 'widgets' },
      spec: {
        resources: [{ group: 'example.dev', name: 'widgets', schema: 'v1.widgets.example.dev', storage: { crd: {} } }],
        permissionClaims: [
          { group: '', resource: 'secrets', verbs: ['get', 'list'] },
          { group: '', resource: 'configmaps', verbs: ['*'] },
        ],
      },
    });
    const opened = await adminPage('/w/root:team/catalogue/root:maker/widgets');
    const { page } = opened;
    const decide = (claim: RegExp, decision: string): Promise<void> =>
      page.getByRole('group', { name: claim }).getByLabel(decision).check();
    await decide(/secrets/i, 'Reject');
    await decide(/configmaps/i, 'Accept');
    await page.getByRole('button', { name: 'Bind', exact: true }).click();
    await page.getByRole('heading', { level: 1 }).getByText('Bound').waitFor();
    const binding = await get<{ spec: { permissionClaims: readonly { resource: string; state: string }[] } }>(
      `/clusters/root:team/${apis}/v1alpha2/apibindings/widgets`,
    );
    expect(Object.fromEntries(binding.spec.permissionClaims.map(({ resource, state }) => [resource, state]))).toEqual({
      secrets: 'Rejected',
      configmaps: 'Accepted',
    });
    await opened.visit('/w/root:maker/provider/widgets');
    await page.getByRole('link', { name: 'root:team' }).waitFor();
    await page.getByText('1 of 2 accepted').waitFor();
  });

  test('what others change is seen at once', async () => {
    await configMap('seen', { color: 'red' });
    const { page } = await adminPage(objectPath('seen', 'overview'));
    await page.getByText('red', { exact: true }).waitFor();
    await merge(`${configMaps}/seen`, { data: { color: 'blue' } });
    await page.getByText('blue', { exact: true }).waitFor();
    await admin.json({ method: 'DELETE', path: `${configMaps}/seen` });
    await page.getByText('ConfigMap seen does not exist').waitFor();
    expect(await page.getByText('blue', { exact: true }).count()).toBe(0);
  });

  test('an edit that meets the change of somebody else is merged with it', async () => {
    await configMap('edited', { mine: 'old', quiet: 'a', silent: 'b', theirs: 'old' });
    const { page } = await adminPage(objectPath('edited', 'yaml'));
    const editor = page.getByRole('textbox', { name: 'YAML of edited' });
    await editor.waitFor();
    await page.getByText('mine: old').click();
    await page.keyboard.press('End');
    await page.keyboard.type('-new');
    await page.getByText('Changed, not saved').waitFor();
    await merge(`${configMaps}/edited`, { data: { theirs: 'new' } });
    await page.getByText('Somebody changed the object meanwhile').waitFor();
    await page.getByRole('button', { name: 'Merge' }).click();
    await page.getByText('Your changes and theirs fit together').waitFor();
    await page.getByRole('button', { name: 'Review the result' }).click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('edited is saved').waitFor();
    const { data } = await get<{ data: Record<string, string> }>(`${configMaps}/edited`);
    expect(data).toEqual({ mine: 'old-new', quiet: 'a', silent: 'b', theirs: 'new' });
  });

  test('a lost connection is shown, and after it the page has what it missed', async () => {
    await configMap('missed', { color: 'red' });
    await using network = await TcpProxy.start(Number(new URL(at.url).port));
    const opened = await newPage(`https://127.0.0.1:${network.port}`);
    await opened.logIn(testTokens.masters, objectPath('missed', 'overview'));
    const { page } = opened;
    await page.getByText('red', { exact: true }).waitFor();
    await opened.settled();
    network.refuse();
    await page.getByText('Reconnecting').waitFor();
    await merge(`${configMaps}/missed`, { data: { color: 'green' } });
    network.accept();
    await page.getByText('green', { exact: true }).waitFor();
    await page.getByText('Reconnecting').waitFor({ state: 'detached' });
    expect(await page.getByText('red', { exact: true }).count()).toBe(0);
  });

  test('an expired session leads to the log-in, and from there back', async () => {
    const opened = await newPage(hasty.url);
    const { page } = opened;
    await opened.logIn(testTokens.masters, listPath);
    await page.getByText('Your session has ended').waitFor();
    await logInAgain(page);
    await page.getByRole('heading', { name: /^ConfigMap/, level: 1 }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/console${listPath}`);
  });

  test('a role is granted by the wizard, and the chain of authorizers tells the difference', async () => {
    const { page } = await adminPage('/w/root:team/access?tab=denied');
    const ask = async (): Promise<void> => {
      await page.getByLabel('User', { exact: true }).fill('user-2');
      await page.getByRole('button', { name: 'Ask' }).click();
    };
    await ask();
    await page.getByText('No, this is denied.').waitFor();
    await page.getByText('no role allows it').waitFor();
    await page.getByRole('button', { name: 'Grant a role' }).click();
    const dialog = page.getByRole('dialog', { name: 'Grant a role' });
    await dialog.getByLabel('Name', { exact: true }).fill('user-2');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByLabel('Role', { exact: true }).selectOption('ClusterRole/view');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByRole('button', { name: 'Grant', exact: true }).click();
    await page.getByText('user-2 has the role view').waitFor();
    // The role is in force a moment after its binding is stored.
    await eventually(async () => {
      await ask();
      await page.getByText('Yes, this is allowed.').waitFor({ timeout: 1_000 });
    });
    const reason = page.getByText('RBAC: allowed by ClusterRoleBinding "view-user-2"');
    expect(await reason.textContent()).toContain('to User "user-2"');
  });
});

async function logInAgain(page: ConsolePage['page']): Promise<void> {
  await page.getByLabel('Bearer token').fill(testTokens.masters);
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  await page.getByRole('navigation', { name: 'Main' }).waitFor();
}
