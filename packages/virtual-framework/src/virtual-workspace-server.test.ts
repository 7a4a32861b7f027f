import { describe, expect, test } from '@jest/globals';
import { statusErrors } from '@multiplane/apimachinery';
import {
  ConnectionTable,
  defaultConnectionLimits,
  defaultHandlerChainOptions,
  Draining,
  RequestMetrics,
  writeText,
  type AuthorizationResult,
} from '@multiplane/apiserver';
import { createLogger, HealthChecks, MetricsRegistry, systemClock } from '@multiplane/component-base';
import { parseServicePath } from './service-path.ts';
import { TestExchange } from './test-support/test-exchange.ts';
import { VirtualWorkspaceServer } from './virtual-workspace-server.ts';
import type { VirtualWorkspace } from './virtual-workspace.ts';

const allow: AuthorizationResult = { decision: 'allow', reason: '' };
const refuse: AuthorizationResult = { decision: 'noOpinion', reason: 'access denied' };

/** A view that tells who it is and what it was asked. */
function view(name: string, more: Partial<VirtualWorkspace> = {}): VirtualWorkspace {
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
      metricsAccess: (_exchange, { name }) => Promise.resolve(name === 'scraper' ? allow : refuse),
      delegatedAuthorizer: () => ({ authorize: () => Promise.resolve(allow) }),
      outer: ({ exchange, info }) => {
        writeText(exchange, 200, `outer ${info.path}`);
        return Promise.resolve();
      },
    },
  );
}

async function ask(
  server: VirtualWorkspaceServer,
  url: string,
  headers: Record<string, string> = {},
): Promise<TestExchange> {
  const exchange = new TestExchange('GET', url, headers);
  await server.handle(exchange);
  return exchange;
}

describe('the root of virtual workspaces', () => {
  test('gives a request to the first view that takes it', async () => {
    const server = serverOf([
      view('wildcard', { accepts: ({ cluster }) => cluster === '*' }),
      view('single', { accepts: ({ group }) => group === 'core.kcp.io' }),
      view('rest'),
    ]);
    const bodies = await Promise.all(
      [
        '/services/views/a/clusters/*/apis/core.kcp.io/v1/x',
        '/services/views/a/clusters/c/apis/core.kcp.io/v1/x',
        '/services/views/a/clusters/c/api/v1/pods?watch=1',
      ].map(async (url) => (await ask(server, url)).body),
    );
    expect(bodies).toEqual([
      'wildcard a * list /apis/core.kcp.io/v1/x',
      'single a c list /apis/core.kcp.io/v1/x',
      'rest a c watch /api/v1/pods',
    ]);
  });

  test('refuses paths of nobody, and tells only those who may do everything that there is nothing', async () => {
    const refused = await ask(serverOf([view('v')]), '/services/nosuch/clusters/root/api');
    expect([refused.status, JSON.parse(refused.body)]).toMatchObject([
      403,
      {
        message:
          'forbidden: User "ann" cannot get path "/services/nosuch/clusters/root/api": Path not resolved to a valid virtual workspace',
      },
    ]);
    const missing = await ask(
      serverOf([view('v')], { name: 'root', groups: ['system:masters'] }),
      '/services/nosuch/clusters/root/api',
    );
    expect([missing.status, missing.body]).toEqual([404, '404 page not found\n']);
  });

  test('sends /services to its folder', async () => {
    const { status, answer } = await ask(serverOf([]), '/services');
    expect([status, answer['location']]).toEqual([307, '/services/']);
  });

  test('lets everybody at the open paths, outside of views only', async () => {
    expect((await ask(serverOf([]), '/readyz')).body).toBe('outer /readyz');
    expect((await ask(serverOf([]), '/metrics')).status).toBe(403);
    expect((await ask(serverOf([], { name: 'scraper', groups: [] }), '/metrics')).body).toBe('outer /metrics');
    const closed = serverOf([view('v', { authorize: () => Promise.resolve(refuse) })]);
    expect((await ask(closed, '/services/views/a/clusters/c/readyz')).status).toBe(403);
  });

  test('lets the view decide who may do what, and name it by its path if it hands everything on', async () => {
    const closed = { authorize: () => Promise.resolve(refuse) };
    const url = '/services/views/a/clusters/c/api/v1/namespaces';
    const byKind = await ask(serverOf([view('v', closed)]), url);
    expect(JSON.parse(byKind.body)).toMatchObject({
      message:
        'namespaces is forbidden: User "ann" cannot list resource "namespaces" in API group "" at the cluster scope: access denied',
    });
    const byPath = await ask(serverOf([view('v', { ...closed, authorizesByPath: true })]), url);
    expect(JSON.parse(byPath.body)).toMatchObject({
      message: 'forbidden: User "ann" cannot get path "/clusters/c/api/v1/namespaces": access denied',
    });
    const broken = { authorize: () => Promise.resolve({ ...refuse, error: new Error('access not permitted') }) };
    expect(await ask(serverOf([view('v', broken)]), url)).toMatchObject({
      status: 500,
      body: `Internal Server Error: "${url}": access not permitted\n`,
    });
  });

  test('asks to come back when whoever must be asked is away', async () => {
    const away = { ...refuse, error: statusErrors.serviceUnavailable('the server behind does not answer', 1) };
    const url = '/services/views/a/clusters/c/api/v1/namespaces';
    const { status, answer } = await ask(serverOf([view('v', { authorize: () => Promise.resolve(away) })]), url);
    expect([status, answer['retry-after']]).toEqual([503, '1']);
  });

  test('makes nobody a member of the system’s groups', async () => {
    const raised = await ask(serverOf([view('v')]), '/services/views/a/clusters/c/api', {
      'impersonate-user': 'bob',
      'impersonate-group': 'system:kcp:initializer:a:b',
    });
    expect(raised.status).toBe(403);
    const other = await ask(serverOf([view('v', { handle: tellUser })]), '/services/views/a/clusters/c/api', {
      'impersonate-user': 'bob',
    });
    expect(other.body).toBe('bob');
  });

  test('is ready when each of its views is, and knows no two of one name', async () => {
    const health = new HealthChecks();
    const late = view('b', { check: () => Promise.reject(new Error('not yet')) });
    serverOf([view('a'), late], undefined, health);
    const results = await health.run(['a', 'b']);
    expect(results.map(({ error }) => error?.message)).toEqual([undefined, 'not yet']);
    expect(() => serverOf([view('c'), view('c')])).toThrow('duplicate virtual workspace "c"');
  });
});

const tellUser: VirtualWorkspace['handle'] = ({ context }) => {
  writeText(context.exchange, 200, context.user.name);
  return Promise.resolve();
};
