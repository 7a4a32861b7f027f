import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { KubeObject } from '@multiplane/apimachinery';
import { eventually } from '@multiplane/testing';
import { testTokens } from '../harness/local-cluster.ts';
import { RawTls } from '../harness/raw-tls.ts';
import { Requests } from '../harness/requests.ts';
import { ShardedCluster } from '../harness/sharded-cluster.ts';
import { createWorkspace } from '../harness/workspaces.ts';

/*
 * A shard that gets SIGTERM under writes: each write is either acknowledged and stored,
 * or was not done, and its client gets an answer that allows a retry.
 */

const path = '/clusters/root:busy/api/v1/namespaces/default/configmaps';
const writers = 8;
const pauseMs = 40;

let cluster: ShardedCluster;
let requests: Requests;

beforeAll(async () => {
  cluster = await ShardedCluster.start({ allFlags: ['--shutdown-delay-duration=3s'] });
  const admin = cluster.transport('root');
  await createWorkspace(admin, 'root', 'busy', { shard: 'shard-1' });
  admin.close();
  requests = new Requests(cluster);
  await eventually(() => requests.must({ path }), { timeout: 30_000 });
}, 180_000);

afterAll(async () => {
  requests?.[Symbol.dispose]();
  await cluster?.[Symbol.asyncDispose]();
});

interface Attempt {
  readonly name: string;
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/** Writes until stopped. What a writer waits between two writes leaves the processors to the servers that stop and start. */
function writing(prefix: string): { readonly attempts: Attempt[]; stop(): Promise<void> } {
  const attempts: Attempt[] = [];
  const over = new AbortController();
  const one = async (writer: number): Promise<void> => {
    for (let count = 0; !over.signal.aborted; count++) {
      const name = `${prefix}-${writer}-${count}`;
      const { status, headers } = await requests.send({
        method: 'POST',
        path,
        body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } },
      });
      attempts.push({ name, status, retryAfter: headers['retry-after'] });
      await pause(pauseMs);
    }
  };
  const running = Promise.all(Array.from({ length: writers }, (_, writer) => one(writer)));
  return {
    attempts,
    stop: async () => {
      over.abort();
      await running;
    },
  };
}

test.each([1, 2, 3])(
  'every write is done or may be tried again, stop %d',
  async (round) => {
    const load = writing(`round${round}`);
    await eventually(() => expect(load.attempts.length).toBeGreaterThan(100), { timeout: 30_000 });
    await cluster.process('shard-shard-1').stop(30_000);
    await eventually(() => expect(load.attempts.at(-1)?.status).toBe(503), { timeout: 30_000 });
    await load.stop();
    await cluster.process('shard-shard-1').start();
    const stored = await eventually(async () => (await requests.must({ path })).json['items'] as KubeObject[], {
      timeout: 60_000,
    });

    const refused = load.attempts.filter(({ status }) => status !== 201);
    expect(
      refused.filter(({ status, retryAfter }) => ![429, 503].includes(status) || retryAfter === undefined),
    ).toEqual([]);
    const names = new Set(stored.map(({ metadata }) => metadata.name));
    expect(load.attempts.filter(({ name, status }) => names.has(name) !== (status === 201))).toEqual([]);
  },
  180_000,
);

/** Answers on one connection, each with its status; `whole` is false when the last one was cut. */
function answersIn(received: string): { readonly statuses: readonly number[]; readonly whole: boolean } {
  const statuses: number[] = [];
  for (let at = 0; at < received.length;) {
    const end = received.indexOf('\r\n\r\n', at);
    const head = /^HTTP\/1\.1 (\d{3})/.exec(received.slice(at, at + 20));
    if (end < 0 || head === null) return { statuses, whole: false };
    const length = /content-length: (\d+)/i.exec(received.slice(at, end));
    const next = end + 4 + Number(length?.[1] ?? Number.NaN);
    if (!(next <= received.length)) return { statuses, whole: false };
    statuses.push(Number(head[1]));
    at = next;
  }
  return { statuses, whole: true };
}

const pipelined = 30;
/** Longer than a test: a process that does not exit by itself fails it. */
const graceMs = 600_000;

test.each(['shard-shard-1', 'front-proxy', 'virtual-workspaces-shard-1'])(
  'SIGTERM of %s under pipelined requests: readiness fails while requests are served, then none that was accepted is cut, and it exits',
  async (name) => {
    const stopping = cluster.process(name);
    const target = {
      port: cluster.ports.find((each) => each.name === name)?.port as number,
      ca: cluster.ca,
    };
    const url = `https://localhost:${target.port}`;
    const probed = {
      'front-proxy': `${path}/kube-root-ca.crt`,
      'shard-shard-1': '/clusters/system:admin/api/v1/namespaces/kube-system',
      'virtual-workspaces-shard-1': '/livez',
    }[name] as string;
    const request = `GET ${probed} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${testTokens.masters}\r\n\r\n`;
    const connections = await Promise.all(Array.from({ length: 6 }, () => RawTls.open(target)));
    using probes = new Requests({ url, ca: cluster.ca });
    try {
      // It waits for servers that an earlier test has started again.
      await eventually(async () => expect((await probes.send({ as: 'anonymous', path: '/readyz' })).status).toBe(200), {
        timeout: 60_000,
      });
      // Each connection always has requests in flight, until the server ends it.
      const loads = connections.map((connection) => pipelining(connection, request));
      for (const connection of connections)
        expect(await connection.until(() => connection.statuses.length > 0, 30_000)).toBe('held');
      const stopped = stopping.stop(graceMs);

      const ready = await eventually(async () => {
        const response = await probes.send({ as: 'anonymous', path: '/readyz?verbose' });
        expect(response.status).toBe(500);
        return response;
      });
      expect(ready.text).toContain('[-]shutdown');
      expect((await probes.send({ as: 'anonymous', path: '/livez' })).status).toBe(200);
      expect((await probes.send({ path: probed })).status).toBe(200);

      await Promise.all(loads);
      for (const connection of connections) {
        const { statuses, whole } = answersIn(connection.received);
        // An answer that has begun is finished.
        expect([whole, connection.received.slice(-300)]).toEqual([true, expect.anything()]);
        // What it does not execute any more, it says so; the rest has not been read.
        expect(statuses.filter((status) => ![200, 429, 503].includes(status))).toEqual([]);
        expect(statuses.length).toBeGreaterThan(0);
      }
      await stopped;
      expect(stopping.running).toBe(false);
    } finally {
      for (const connection of connections) connection[Symbol.dispose]();
      if (!stopping.running) await stopping.start();
    }
  },
  180_000,
);

/** Sends the same request again and again, up to {@link pipelined} at a time, until the server ends the connection. */
async function pipelining(connection: RawTls, request: string): Promise<void> {
  const isEnding = (): boolean => /connection: close/i.test(connection.received.slice(-2_000));
  for (let sent = 0; !connection.closed && !isEnding();) {
    connection.send(request.repeat(pipelined));
    sent += pipelined;
    const wanted = sent - pipelined / 2;
    await connection.until(() => connection.statuses.length >= wanted || isEnding(), 60_000);
  }
  await connection.until(() => connection.closed, 60_000);
}
