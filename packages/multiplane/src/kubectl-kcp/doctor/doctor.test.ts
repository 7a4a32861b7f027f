import { X509Certificate } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { StatusError, type KubeObject } from '@multiplane/apimachinery';
import { testCertificates } from '@multiplane/testing';
import type { WorkspaceClient } from '../../kubectl-ws/workspace-client.ts';
import { version } from '../../version.ts';
import type { Binding } from '../permission-claims.ts';
import { checkBindings, checkExports, type ConditionedObject } from './check-apis.ts';
import { checkCertificates } from './check-certificates.ts';
import { doctor } from './doctor.ts';
import { findingText } from './finding.ts';

const forbidden = new StatusError({ code: 403, reason: 'Forbidden', message: 'you may not' });
const unauthorized = new StatusError({ code: 401, reason: 'Unauthorized', message: 'Unauthorized' });

interface Answers {
  readonly serverVersion?: string | Error;
  readonly access?: boolean | Error;
  readonly phase?: string;
  readonly lists?: Readonly<Record<string, readonly KubeObject[] | Error>>;
}

/** The findings about a server with these answers, as `level check`. */
async function found(answers: Answers, url = 'http://localhost/clusters/root:shop'): Promise<string[]> {
  const answer = <T>(value: T | Error): Promise<T> =>
    value instanceof Error ? Promise.reject(value) : Promise.resolve(value);
  const client = {
    origin: 'http://localhost',
    serverVersion: () => answer(answers.serverVersion ?? `v1.36.0+multiplane-${version}`),
    canAccess: () => answer(answers.access ?? true),
    user: () => answer({ name: 'alice', groups: ['team'] }),
    clusterPhase: () => answer(answers.phase),
    objects: { list: ({ resource }: { resource: string }) => answer(answers.lists?.[resource] ?? []) },
  } as unknown as WorkspaceClient;
  const findings: string[] = [];
  for await (const finding of doctor({ client, url, config: { server: url }, now: () => 0 })) {
    expect(finding.level === 'ok').toBe(finding.remedy === undefined);
    findings.push(`${finding.level} ${finding.check}: ${finding.text}`);
  }
  return findings;
}

test('a workspace without problems', async () => {
  expect(await found({ phase: 'Ready' })).toEqual([
    'ok kubeconfig: server http://localhost, workspace root:shop',
    `ok versions: plugin ${version}, server v1.36.0+multiplane-${version}`,
    'ok credentials: user "alice", groups team',
    'ok workspace: root:shop is Ready',
    'ok APIBindings: 0 bound, all claims answered',
  ]);
});

test.each<[string, Answers, string]>([
  ['a server that is down', { serverVersion: new Error('no answer') }, 'error server: no answer'],
  ['credentials of another server', { serverVersion: unauthorized }, 'error credentials: Unauthorized'],
  [
    'a workspace that does not exist',
    { access: false },
    'error workspace: root:shop does not exist, or the user has no access to it',
  ],
  ['a shard that is down', { access: new Error('no shard') }, 'error workspace: no shard'],
])('%s ends the checks', async (_what, answers, last) => {
  expect((await found(answers)).at(-1)).toBe(last);
});

test('a URL without a workspace ends the checks', async () => {
  expect(await found({}, 'http://localhost')).toEqual([
    'error kubeconfig: current cluster URL http://localhost is not pointing to a workspace',
  ]);
});

test('other versions, other phases and lists that are forbidden', async () => {
  const findings = await found({
    serverVersion: 'v1.36.0+multiplane-9.9.9',
    phase: 'Initializing',
    lists: { apiexports: forbidden },
  });
  expect(findings).toContain(`warning versions: plugin ${version}, server v1.36.0+multiplane-9.9.9`);
  expect(findings).toContain('error workspace: root:shop is in phase Initializing');
  expect(findings).toContain('warning apiexports: you may not');
  expect((await found({ serverVersion: 'v1.36.0+kcp-v0.30' }))[1]).toContain('which is not Multiplane');
});

const unmet = { type: 'APIExportValid', status: 'False', reason: 'APIExportNotFound', message: 'there is no export' };
const binding = (status: Binding['status'], spec: Binding['spec'] = {}): Binding => ({
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIBinding',
  metadata: { name: 'b' },
  spec,
  ...(status === undefined ? {} : { status }),
});

test('bindings that are not bound, and claims that are not answered', () => {
  const claims = [{ resource: 'secrets' }, { group: 'example.com', resource: 'things' }, { resource: 'configmaps' }];
  const answered = binding(
    { phase: 'Bound', exportPermissionClaims: claims },
    { permissionClaims: [{ resource: 'configmaps', state: 'Rejected' }] },
  );
  expect(checkBindings([answered]).map(findingText)).toEqual([
    '[warning] APIBinding b: the claim of the provider on secrets is not answered, so it has no access\n' +
      '          → kubectl kcp claims accept b --resource secrets.core, or reject',
    '[warning] APIBinding b: the claim of the provider on things.example.com is not answered, so it has no access\n' +
      '          → kubectl kcp claims accept b --resource things.example.com, or reject',
  ]);
  const texts = (status: Binding['status']) => checkBindings([binding(status)]).map(({ level, text }) => [level, text]);
  expect(texts({ phase: 'Binding', conditions: [unmet] })).toEqual([
    ['error', 'phase Binding: APIExportValid (APIExportNotFound): there is no export'],
  ]);
  expect(texts({ phase: 'Bound', conditions: [unmet] })).toEqual([
    ['warning', 'bound, but APIExportValid (APIExportNotFound): there is no export'],
  ]);
  expect(texts(undefined)).toEqual([['error', 'phase unknown: no condition says why']]);
});

const conditioned = (
  name: string,
  spec: ConditionedObject['spec'],
  status: ConditionedObject['status'] = {},
): ConditionedObject => ({
  apiVersion: 'apis.kcp.io/v1alpha1',
  kind: 'X',
  metadata: { name },
  status,
  ...(spec === undefined ? {} : { spec }),
});

test('exports that are invalid or have no endpoint slice, and slices that are invalid', () => {
  const exports = [conditioned('good', undefined), conditioned('bad', undefined, { conditions: [unmet] })];
  const slices = [
    conditioned('s', { export: { name: 'good' } }, { endpoints: [{}, {}] }),
    conditioned('t', { export: { path: 'root:other', name: 'bad' } }, { conditions: [unmet] }),
  ];
  expect(checkExports('root', exports, slices).map(({ level, check }) => `${level} ${check}`)).toEqual([
    'error APIExport bad',
    'warning APIExport bad',
    'error APIExportEndpointSlice t',
  ]);
  expect(checkExports('root', exports.slice(0, 1), slices.slice(0, 1))).toEqual([
    { level: 'ok', check: 'APIExports', text: '1 valid, with 2 endpoints in 1 slices' },
  ]);
  expect(checkExports('root', [], [])).toEqual([]);
});

test('certificates by the time that is left', async () => {
  const { certificatePem: certificate } = (await testCertificates()).server;
  const parsed = new X509Certificate(certificate);
  const [from, to] = [Date.parse(parsed.validFrom), Date.parse(parsed.validTo)];
  const day = 24 * 3600 * 1000;
  const levels = async (now: number) =>
    (
      await checkCertificates(
        { server: 'https://localhost', certificate },
        { now: () => now, readServerCertificate: () => Promise.resolve(parsed.raw) },
      )
    ).map(({ level, check }) => `${level} ${check}`);
  const both = (level: string) => [`${level} client certificate`, `${level} server certificate`];
  expect(await levels(to - 15 * day)).toEqual(both('ok'));
  expect(await levels(to - 13 * day)).toEqual(both('warning'));
  expect(await levels(to + day)).toEqual(both('error'));
  expect(await levels(from - day)).toEqual(both('error'));
  const insecure = await checkCertificates(
    { server: 'https://localhost', insecure: true, certificate: 'nonsense' },
    { now: () => 0, readServerCertificate: () => Promise.reject(new Error('refused')) },
  );
  expect(insecure.map(({ level, check }) => `${level} ${check}`)).toEqual([
    'error client certificate',
    'warning server certificate',
  ]);
});
