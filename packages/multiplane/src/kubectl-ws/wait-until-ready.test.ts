import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import type { JsonObject } from '@multiplane/apimachinery';
import { waitUntilReady } from './wait-until-ready.ts';
import { WorkspaceClient } from './workspace-client.ts';

let server: Server;
let client: WorkspaceClient;
afterEach(async () => {
  client.close();
  server.close();
  await once(server, 'close');
});

/** Waits for a workspace that has one status after the other, and the last for ever; undefined: it is gone. */
async function wait(statuses: readonly (JsonObject | undefined)[], timeoutMs: number) {
  const left = [...statuses];
  server = createServer((_request, response) => {
    const status = left.length > 1 ? left.shift() : left[0];
    response.writeHead(status === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify(
        status === undefined
          ? { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 }
          : { metadata: { name: 'shop' }, spec: { type: { name: 'team', path: 'root' } }, status },
      ),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  client = new WorkspaceClient({ config: { server: `http://127.0.0.1:${port}` }, userAgent: 'test' });
  const lines: string[] = [];
  const options = { parent: 'root', name: 'shop', ofType: ' (type root:team)', timeoutMs };
  const failure: unknown = await waitUntilReady(options, { client, err: (line) => lines.push(line) }).catch(
    (error: unknown) => error,
  );
  return { lines, failure };
}

const unscheduled = (message: string, severity = 'Error'): JsonObject => ({
  phase: 'Unavailable',
  conditions: [
    { type: 'WorkspaceInitialized', status: 'True' },
    { type: 'WorkspaceScheduled', status: 'False', severity, reason: 'Unschedulable', message },
  ],
});
const message = 'No available shards to schedule the workspace';

test('reports a workspace that matches no shard immediately, and again after the timeout', async () => {
  const { lines, failure } = await wait([unscheduled(message)], 0);
  expect(lines).toEqual([`Workspace "shop" cannot become ready yet: ${message} (Unschedulable)`]);
  expect(failure).toEqual(
    new Error(`workspace "shop" (type root:team) created but is not ready to use: ${message} (Unschedulable)`),
  );
});

test('reports each reason once, and the workspace may still become ready', async () => {
  const { lines, failure } = await wait(
    [{}, unscheduled(message), unscheduled(message), unscheduled('another'), { phase: 'Ready' }],
    60_000,
  );
  expect(failure).toBeUndefined();
  expect(lines).toEqual([
    `Workspace "shop" cannot become ready yet: ${message} (Unschedulable)`,
    'Workspace "shop" cannot become ready yet: another (Unschedulable)',
  ]);
});

test('reports conditions without severity Error only after the timeout', async () => {
  const { lines, failure } = await wait([unscheduled('Initializers still exist: [a]', 'Info')], 0);
  expect(lines).toEqual([]);
  expect(failure).toMatchObject({
    message: expect.stringContaining('use: Initializers still exist: [a] (Unschedulable)'),
  });
});

test.each<[string, JsonObject | undefined, string]>([
  [
    'says nothing',
    { phase: 'Initializing', conditions: [null, 'x', { type: 'Other', status: 'False' }] },
    'its phase is "Initializing"',
  ],
  ['was deleted', undefined, 'it does not exist any more'],
])('a workspace that %s', async (_what, status, text) => {
  expect((await wait([status], 0)).failure).toMatchObject({
    message: expect.stringContaining(`ready to use: ${text}`),
  });
});
