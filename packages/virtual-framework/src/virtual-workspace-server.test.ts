import { describe, expect, test } from '@jest/globals';
import { statusErrors } from '@multiplane/apimachinery';
import { createLogger, HealthChecks, MetricsRegistry, systemClock } from '@multiplane/component-base';
import {
  type AuthorizationResult,
  ConnectionTable,
  defaultConnectionLimits,
  defaultHandlerChainOptions,
  Draining,
  RequestMetrics,
  writeText,
} from '@multiplane/generic-server';
import { parseServicePath } from './service-path.ts';
import { TestExchange } from '../test/test-exchange.ts';
import { VirtualWorkspaceServer } from './virtual-workspace-server.ts';
import type { VirtualWorkspace } from './virtual-workspace.ts';

const allow: AuthorizationResult = { decision: 'allow', reason: '' };
const deny: AuthorizationResult = { decision: 'noOpinion', reason: 'access denied' };

/** A virtual workspace that responds with its name and the request. */
function workspace(name: string, more: Partial<VirtualWorkspace> = {}): VirtualWorkspace {
  return {
    name,
    resolve: (target) => parseServicePath(target, 'views', 1),
    authorize: () => Promise.resolve(allow),
    handle: ({ context, key, cluster }) => {
      writeText(context.exchange, 200, `${name} ${key} ${cluster} ${context.info.verb} ${context.info.path}`);
      return Promise.resolve();
    },
    ...more,
  };
}

function serverOf(
  workspaces: readonly VirtualWorkspace[],
  user = { name: 'ann', groups: ['team'] },
  health = new HealthChecks(),
): VirtualWorkspaceServer {
  return new VirtualWorkspaceServer(
    { ...defaultHandlerChainOptions, alwaysAllowPaths: ['/readyz'], version: 'v1' },
    {
      workspaces,
      health,
      clock: systemClock,
      logger: createLogger({ level: 'error', format: 'text' }, { write: () => {} }),
      metrics: new RequestMetrics(new MetricsRegistry()),
      draining: new Draining(),
      connections: new ConnectionTable(defaultConnectionLimits),
      authenticator: { authenticate: () => Promise.resolve({ user: { uid: '', extra: {}, ...user } }) },
      metricsAccess: (_exchange, { name }) => Promise.resolve(name === 'scraper' ? allow : deny),
      delegatedAuthorizer: () => ({ authorize: () => Promise.resolve(allow) }),
      outer: ({ exchange, info }) => {
        writeText(exchange, 200, `outer ${info.path}`);
        return Promise.resolve();
      },
    },
  );
}

async function send(
  server: VirtualWorkspaceServer,
  url: string,
  headers: Record<string, string> = {},
): Promise<TestExchange> {
  const exchange = new TestExchange('GET', url, headers);
  await server.handle(exchange);
  return exchange;
}

describe('VirtualWorkspaceServer', () => {
  test('dispatches to the first virtual workspace that accepts the request', async () => {
    const server = serverOf([
      workspace('wildcard', { accepts: ({ cluster }) => cluster === '*' }),
      workspace('single', { accepts: ({ group }) => group === 'core.kcp.io' }),
      workspace('rest'),
    ]);
    const bodies = await Promise.all(
      [
        '/services/views/a/clusters/*/apis/core.kcp.io/v1/x',
        '/services/views/a/clusters/c/apis/core.kcp.io/v1/x',
        '/services/views/a/clusters/c/api/v1/pods?watch=1',
      ].map(async (url) => (await send(server, url)).body),
    );
    expect(bodies).toEqual([
      'wildcard a * list /apis/core.kcp.io/v1/x',
      'single a c list /apis/core.kcp.io/v1/x',
      'rest a c watch /api/v1/pods',
    ]);
  });

  test('denies unresolved paths, and returns 404 to system:masters only', async () => {
    const refused = await send(serverOf([workspace('v')]), '/services/nosuch/clusters/root/api');
    expect([refused.status, JSON.parse(refused.body)]).toMatchObject([
      403,
      {
        message:
          'forbidden: User "ann" cannot get path "/services/nosuch/clusters/root/api": Path not resolved to a valid virtual workspace',
      },
    ]);
    const missing = await send(
      serverOf([workspace('v')], { name: 'root', groups: ['system:masters'] }),
      '/services/nosuch/clusters/root/api',
    );
    expect([missing.status, missing.body]).toEqual([404, '404 page not found\n']);
  });

  test('redirects /services to /services/', async () => {
    const { status, responseHeaders } = await send(serverOf([]), '/services');
    expect([status, responseHeaders['location']]).toEqual([307, '/services/']);
  });

  test('allows the always-allowed paths, also within virtual workspaces', async () => {
    expect((await send(serverOf([]), '/readyz')).body).toBe('outer /readyz');
    expect((await send(serverOf([]), '/metrics')).status).toBe(403);
    expect((await send(serverOf([], { name: 'scraper', groups: [] }), '/metrics')).body).toBe('outer /metrics');
    const closed = serverOf([workspace('v', { authorize: () => Promise.resolve(deny) })]);
    expect((await send(closed, '/services/views/a/clusters/c/readyz')).status).toBe(200);
    expect((await send(closed, '/services/views/a/clusters/c/readyz/x')).status).toBe(403);
  });

  test('authorizes before it refuses paths of the server', async () => {
    const url = '/services/views/a/clusters/c/metrics';
    expect((await send(serverOf([workspace('v')]), url)).status).toBe(501);
    const closed = serverOf([workspace('v', { authorize: () => Promise.resolve(deny) })]);
    expect((await send(closed, url)).status).toBe(403);
  });

  test('delegates authorization to the virtual workspace, by path if it authorizes by path', async () => {
    const closed = { authorize: () => Promise.resolve(deny) };
    const url = '/services/views/a/clusters/c/api/v1/namespaces';
    const byKind = await send(serverOf([workspace('v', closed)]), url);
    expect(JSON.parse(byKind.body)).toMatchObject({
      message:
        'namespaces is forbidden: User "ann" cannot list resource "namespaces" in API group "" at the cluster scope: access denied',
    });
    const byPath = await send(serverOf([workspace('v', { ...closed, authorizesByPath: true })]), url);
    expect(JSON.parse(byPath.body)).toMatchObject({
      message: 'forbidden: User "ann" cannot get path "/clusters/c/api/v1/namespaces": access denied',
    });
    const broken = { authorize: () => Promise.resolve({ ...deny, error: new Error('access not permitted') }) };
    expect(await send(serverOf([workspace('v', broken)]), url)).toMatchObject({
      status: 500,
      body: `Internal Server Error: "${url}": access not permitted\n`,
    });
  });

  test('returns Retry-After when the authorizing server is unavailable', async () => {
    const unavailable = { ...deny, error: statusErrors.serviceUnavailable('the upstream server is unreachable', 1) };
    const url = '/services/views/a/clusters/c/api/v1/namespaces';
    const { status, responseHeaders } = await send(
      serverOf([workspace('v', { authorize: () => Promise.resolve(unavailable) })]),
      url,
    );
    expect([status, responseHeaders['retry-after']]).toEqual([503, '1']);
  });

  test('rejects impersonation of system groups', async () => {
    const raised = await send(serverOf([workspace('v')]), '/services/views/a/clusters/c/api', {
      'impersonate-user': 'bob',
      'impersonate-group': 'system:kcp:initializer:a:b',
    });
    expect(raised.status).toBe(403);
    const other = await send(
      serverOf([workspace('v', { handle: respondWithUser })]),
      '/services/views/a/clusters/c/api',
      {
        'impersonate-user': 'bob',
      },
    );
    expect(other.body).toBe('bob');
  });

  test('adds a readiness check per virtual workspace and rejects duplicate names', async () => {
    const health = new HealthChecks();
    const late = workspace('b', { check: () => Promise.reject(new Error('not yet')) });
    serverOf([workspace('a'), late], undefined, health);
    const results = await health.run(['a', 'b']);
    expect(results.map(({ error }) => error?.message)).toEqual([undefined, 'not yet']);
    expect(() => serverOf([workspace('c'), workspace('c')])).toThrow('duplicate virtual workspace "c"');
  });
});

const respondWithUser: VirtualWorkspace['handle'] = ({ context }) => {
  writeText(context.exchange, 200, context.user.name);
  return Promise.resolve();
};
