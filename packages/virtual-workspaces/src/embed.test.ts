import { expect, test } from '@jest/globals';
import type { UserInfo } from '@multiplane/apimachinery';
import {
  AuditPolicy,
  type AuditEvent,
  type BaseExchange,
  type EmbeddingHost,
  type Exchange,
} from '@multiplane/apiserver';
import { createLogger, HealthChecks, systemClock } from '@multiplane/component-base';
import { BufferedExchange, type BufferedAnswer } from '@multiplane/virtual-framework';
import { embedVirtualWorkspaces } from './embed.ts';

const logger = createLogger({ level: 'error', format: 'text' }, { write: () => {} });
const ann: UserInfo = { name: 'ann', uid: '', groups: ['system:authenticated'], extra: {} };

/** A shard that allows what is asked of it or not; it notes what went down its own chain, and what was told to its audit. */
function hostThat(allowed: boolean): { host: EmbeddingHost; dispatched: string[]; told: AuditEvent[] } {
  const dispatched: string[] = [];
  const told: AuditEvent[] = [];
  const host = {
    clock: systemClock,
    logger,
    health: new HealthChecks(),
    authenticator: { authenticate: () => Promise.resolve({ user: ann }) },
    globalInformers: { informer: () => ({ get: () => undefined }) },
    audit: {
      policy: AuditPolicy.parse(
        'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata, omitStages: [RequestReceived]}]',
      ),
      backend: { process: async (event: AuditEvent) => void told.push(event), close: async () => {} },
      clock: systemClock,
      logger,
    },
    dispatch: async (exchange: Exchange, user: UserInfo, url: string) => {
      dispatched.push(`${user.name} ${exchange.method} ${url}`);
      exchange.setHeader('content-type', 'application/json');
      if (url.endsWith('subjectaccessreviews')) exchange.respond(201, JSON.stringify({ status: { allowed } }));
      else exchange.respond(200, '{"kind":"LogicalClusterList","items":[]}');
    },
  } as unknown as EmbeddingHost;
  return { host, dispatched, told };
}

async function ask(host: EmbeddingHost, url: string): Promise<BufferedAnswer> {
  const server = await embedVirtualWorkspaces({ version: '1' })(host);
  const nobody = { socket: {}, signal: new AbortController().signal } as unknown as Exchange;
  const exchange = new BufferedExchange(nobody, url, { method: 'GET' });
  await server.handle(Object.assign(exchange, { ended: false, gone: false, bytesSent: 0 }) as unknown as BaseExchange);
  return exchange.answer();
}

const listUrl = '/services/initializingworkspaces/a:mine/clusters/*/apis/core.kcp.io/v1alpha1/logicalclusters';

test('inside a shard a list goes down the shard’s own chain, in the name of who asked', async () => {
  const { host, dispatched } = hostThat(true);
  const { status, body } = await ask(host, listUrl);
  expect([status, body.toString()]).toEqual([200, '{"kind":"LogicalClusterList","items":[]}']);
  expect(dispatched).toEqual([
    'system:virtual-workspaces POST /clusters/a/apis/authorization.k8s.io/v1/subjectaccessreviews',
    expect.stringMatching(/^ann GET \/clusters\/\*\/apis\/core\.kcp\.io\/v1alpha1\/logicalclusters\?labelSelector=/),
  ]);
});

test('the shard’s audit is told of what never gets to its chain', async () => {
  const { host, told } = hostThat(false);
  expect((await ask(host, listUrl)).status).toBe(403);
  expect(told).toMatchObject([
    {
      stage: 'ResponseComplete',
      requestURI: listUrl,
      verb: 'list',
      user: { username: 'ann' },
      responseStatus: { code: 403 },
    },
  ]);
});
