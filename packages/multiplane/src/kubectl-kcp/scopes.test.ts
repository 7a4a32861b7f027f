import { expect, test } from '@jest/globals';
import { StatusError } from '@multiplane/apimachinery';
import type { CommandModules } from '../kubectl-ws/commands.ts';
import { scopeRows, showScopes, type ScopeSlice, type ShownScope } from './scopes.ts';

const apiVersion = 'scopes.multiplane.dev/v1alpha1';
const scope = (name: string, path: string | undefined, status: ShownScope['status']): ShownScope => ({
  apiVersion,
  kind: 'APIExportScope',
  metadata: { name },
  spec: {
    export: { name: 'market', ...(path === undefined ? {} : { path }) },
    selector: { matchLabels: { provider: name } },
    assignment: 'Consumer',
    transfer: 'Forbidden',
  },
  ...(status === undefined ? {} : { status }),
});
const condition = (type: string, reason?: string) => ({
  type,
  status: reason === undefined ? 'True' : 'False',
  ...(reason === undefined ? {} : { reason }),
});
const slice = (name: string, urls: readonly string[]): ScopeSlice => ({
  apiVersion,
  kind: 'APIExportScopeEndpointSlice',
  metadata: { name: `of-${name}` },
  spec: { scope: { name } },
  status: { endpoints: urls.map((url) => ({ url })) },
});

test('scopes are shown with their selector, the reason why one is not usable, and the numbers of distinct endpoints and objects', () => {
  const byField = scope('d', undefined, undefined);
  byField.spec = { export: { name: 'market' }, selector: { matchFields: { 'spec.class': 'd' } } };
  const scopes = [
    scope('a', undefined, {
      conditions: [condition('ExportValid'), condition('EndpointsReady')],
      shards: [
        { name: 'east', objects: 3 },
        { name: 'west', objects: 4 },
      ],
    }),
    scope('b', 'root:x', { conditions: [condition('ExportValid', 'APIExportNotFound')] }),
    scope('c', undefined, undefined),
    byField,
  ];
  expect(scopeRows(scopes, [slice('a', ['u1', 'u2']), slice('a', ['u1']), slice('b', [])])).toEqual([
    ['a', 'market', 'provider=a', 'Consumer', 'Forbidden', 'Ready', '2', '7'],
    ['b', 'root:x:market', 'provider=b', 'Consumer', 'Forbidden', 'APIExportNotFound', '0', ''],
    ['c', 'market', 'provider=c', 'Consumer', 'Forbidden', 'Pending', '0', ''],
    ['d', 'market', 'spec.class=d', '', '', 'Pending', '0', ''],
  ]);
});

test('a workspace without the API of scopes gets the command that binds it', async () => {
  // What a server answers below a group that it does not know.
  const list = () => Promise.reject(new StatusError({ code: 404, reason: '', message: '404 page not found' }));
  const modules = { client: { objects: { list } }, url: 'https://localhost/clusters/root:demo', out: () => {} };
  await expect(showScopes(undefined, modules as unknown as CommandModules)).rejects.toThrow(
    'workspace "root:demo" has no scopes; to use them: kubectl kcp bind apiexport root:scopes.multiplane.dev',
  );
});
