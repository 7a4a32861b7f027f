import { describe, expect, test } from '@jest/globals';
import type { LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import { systemClock } from '@multiplane/component-base';
import { type Exchange, parseRequestPath, type RequestContext, resolveRequestInfo } from '@multiplane/generic-server';
import { AccessReviewer, type UpstreamRequest, type ShardConnection } from '@multiplane/virtual-framework';
import { contentWorkspace, fetchWorkspaceType } from './workspace-content.ts';
import { initializing, terminating, type Lifecycle, type LogicalCluster, type WorkspaceType } from './lifecycle.ts';

const ann: UserInfo = { name: 'ann', uid: '1', groups: ['team', 'system:authenticated'], extra: {} };
const creator = { username: 'bob', uid: '2', groups: ['owners'], extra: { a: ['b'] } };

const waiting: LogicalCluster = {
  apiVersion: 'core.kcp.io/v1alpha1',
  kind: 'LogicalCluster',
  metadata: { name: 'cluster' },
  spec: { createdBy: creator },
  status: { phase: 'Initializing', initializers: ['a:mine', 'system:apibindings'] },
};
const ending: LogicalCluster = {
  ...waiting,
  metadata: { name: 'cluster', deletionTimestamp: '2026-01-01T00:00:00Z' },
  status: { phase: 'Terminating', terminators: ['a:mine'] },
};
const typeWith = (rules: readonly object[]): WorkspaceType => ({
  apiVersion: 'tenancy.kcp.io/v1alpha1',
  kind: 'WorkspaceType',
  metadata: { name: 'mine' },
  spec: { initializerPermissions: rules as [], terminatorPermissions: rules as [] },
});

interface Answer {
  status: number;
  body: string;
}

/** Sends a request to the content of a workspace; returns what was forwarded to the shard, or the response. */
async function enter(
  path: string,
  {
    cluster = waiting,
    type,
    lifecycle = initializing,
    key = 'a:mine',
    method = 'GET',
  }: {
    cluster?: LogicalCluster | undefined;
    type?: WorkspaceType;
    lifecycle?: Lifecycle;
    key?: string;
    method?: string;
  } = {},
): Promise<UpstreamRequest | Answer> {
  let passed: UpstreamRequest | undefined;
  const answer: Answer = { status: 0, body: '' };
  const connection: ShardConnection = {
    forward: async (exchange, onward) => {
      if (onward.user !== undefined) passed = onward;
      else if (cluster.metadata.name === 'cluster') exchange.respond(200, JSON.stringify(cluster));
      else exchange.respond(404, JSON.stringify({ kind: 'Status', reason: 'NotFound', code: 404 }));
    },
  };
  const workspace = contentWorkspace(lifecycle, {
    connection,
    reviewer: new AccessReviewer({ allowedTtl: 0, deniedTtl: 0 }, { connection, clock: systemClock }),
    serve: () => Promise.resolve(),
    findType: async () => type,
  });
  const url = `/services/${lifecycle.service}/${key}/clusters/abc${path}`;
  const target = workspace.resolve(parseRequestPath(url))!;
  const exchange = {
    method,
    url,
    headers: {},
    setHeader: () => {},
    respond: (status: number, body: string) => Object.assign(answer, { status, body }),
  } as unknown as Exchange;
  const context = {
    exchange,
    info: resolveRequestInfo(method, target.requestPath, 'abc' as LogicalClusterName),
    user: ann,
  } as unknown as RequestContext;
  await workspace.handle({ context, workspace, key, cluster: 'abc' as LogicalClusterName });
  return passed ?? answer;
}

test.each([
  ['of a logical cluster of the shard', JSON.stringify({ kind: 'Status', reason: 'NotFound', code: 404 })],
  ['in a cluster of another shard', '404 page not found\n'],
])('a missing type %s is not found', async (_where, body) => {
  const connection: ShardConnection = { forward: async (exchange) => exchange.respond(404, body) };
  const parent = { headers: {}, setHeader: () => {} } as unknown as Exchange;
  expect(await fetchWorkspaceType({ connection }, parent, 'abc', 'mine')).toBeUndefined();
});

describe('the content of a waiting workspace', () => {
  test('is accessed as its creator if the type lists no permissions', async () => {
    expect(await enter('/api/v1/namespaces?watch=1', { type: typeWith([]) })).toEqual({
      url: '/clusters/abc/api/v1/namespaces?watch=1',
      user: { name: 'bob', uid: '2', groups: ['owners'], extra: { a: ['b'] } },
      longRunning: true,
    });
    expect(await enter('/api', { key: 'system:apibindings' })).toMatchObject({ user: { name: 'bob' } });
  });

  test('is accessed as the caller within the permissions of the type', async () => {
    const type = typeWith([
      { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] },
      { nonResourceURLs: ['/api'], verbs: ['get'] },
    ]);
    expect(await enter('/api/v1/namespaces/x', { type })).toMatchObject({
      url: '/clusters/abc/api/v1/namespaces/x',
      user: { name: 'ann', groups: ['system:kcp:initializer:a:mine', 'team', 'system:authenticated'] },
    });
    expect(await enter('/api', { type })).toMatchObject({ url: '/clusters/abc/api' });
    const denied = 'initializer "a:mine" denied by initializerPermissions: no rule allows';
    expect(await enter('/api/v1/namespaces/x', { type, method: 'DELETE' })).toEqual({
      status: 403,
      body: `${denied} delete on core/namespaces (x) in namespace x\n`,
    });
    expect(await enter('/apis/apps/v1/deployments', { type })).toEqual({
      status: 403,
      body: `${denied} list on apps/deployments\n`,
    });
    expect(await enter('/version', { type })).toEqual({ status: 403, body: `${denied} get on /version\n` });
  });

  test('is accessed by a terminator likewise', async () => {
    const type = typeWith([{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]);
    expect(await enter('/api/v1/pods', { cluster: ending, lifecycle: terminating, type })).toMatchObject({
      user: { name: 'ann', groups: ['system:kcp:terminator:a:mine', 'team', 'system:authenticated'] },
    });
    expect(await enter('/api/v1/pods', { lifecycle: terminating, type })).toEqual({
      status: 403,
      body: 'terminator "a:mine" cannot access this workspace\n',
    });
  });

  test('is denied to ids that it does not wait for', async () => {
    expect(await enter('/api', { key: 'a:other', type: typeWith([]) })).toEqual({
      status: 403,
      body: 'initializer "a:other" cannot access this workspace\n',
    });
    const ready = { ...waiting, status: { phase: 'Ready', initializers: ['a:mine'] } };
    expect(await enter('/api', { cluster: ready, type: typeWith([]) })).toMatchObject({ status: 403 });
  });

  test('is denied if the type cannot be found', async () => {
    expect(await enter('/api', {})).toEqual({
      status: 503,
      body: 'initializer "a:mine": WorkspaceType not found in local or cached indexer; refusing to fall back to owner impersonation: workspacetype.tenancy.kcp.io "mine" not found\n',
    });
    const { spec: _spec, ...anonymous } = waiting;
    expect(await enter('/api', { cluster: anonymous, type: typeWith([]) })).toEqual({
      status: 403,
      body: 'initializer "a:mine" cannot access this workspace: LogicalCluster abc|cluster had no createdBy recorded\n',
    });
    await expect(enter('/api', { cluster: { ...waiting, metadata: {} } })).rejects.toMatchObject({
      code: 404,
      message: 'logicalclusters.core.kcp.io "cluster" not found',
    });
  });
});
