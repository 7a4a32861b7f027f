import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually, freePorts, TempDir } from '@multiplane/testing';
import { configMap, gadget, gadgetDefinition } from '../fixtures/gadgets.ts';
import { LocalCluster, testTokens } from '../harness/local-cluster.ts';
import { RawTls } from '../harness/raw-tls.ts';
import { Requests } from '../harness/requests.ts';
import { createWorkspace } from '../harness/workspaces.ts';

interface Stored {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string };
  readonly data?: { readonly value?: string };
}

const prefix = '/clusters/root:faults';
const configMaps = '/api/v1/namespaces/e2e/configmaps';

let cluster: LocalCluster;
let compiled: TempDir;
let requests: Requests;

/** Plain requests on new connections: those from before a crash are dead. */
function reconnect(): void {
  requests?.[Symbol.dispose]();
  requests = new Requests(cluster, prefix);
}

beforeAll(async () => {
  compiled = await TempDir.create('compile-cache');
  cluster = await LocalCluster.start({ env: { NODE_COMPILE_CACHE: compiled.path } });
  const admin = cluster.transport('shard-base');
  await createWorkspace(admin, 'root', 'faults');
  admin.close();
  reconnect();
  await requests.must({
    method: 'POST',
    path: '/api/v1/namespaces',
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'e2e' } },
  });
  await requests.must({
    method: 'POST',
    path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    body: gadgetDefinition,
  });
  await eventually(() =>
    requests.must({
      method: 'POST',
      path: '/apis/e2e.example.com/v1/namespaces/e2e/gadgets',
      body: gadget('survivor', { color: 'blue' }),
    }),
  );
}, 120_000);

afterAll(async () => {
  requests?.[Symbol.dispose]();
  await cluster?.[Symbol.asyncDispose]();
  await compiled?.remove();
});

test('a server that runs has written what it compiled, for starts after a kill', () =>
  eventually(
    () => {
      const files = readdirSync(compiled.path, { recursive: true, withFileTypes: true });
      expect(files.filter((file) => file.isFile()).length).toBeGreaterThan(10);
    },
    { timeout: 30_000 },
  ));

const listAll = async (): Promise<Map<string, Stored>> =>
  new Map(
    ((await requests.must({ path: configMaps })).json['items'] as Stored[]).map((item) => [item.metadata.name, item]),
  );

describe('kill -9 in the middle of writes', () => {
  test.each([1, 2, 3])(
    'round %i: every acknowledged write is there after the restart, and none half',
    async (round) => {
      const acknowledged = new Map<string, { uid: string; value: string; revision: number }>();
      const deleted = new Set<string>();
      let highest = 0;
      const state = { stopped: false };
      const writer = async (writerIndex: number): Promise<void> => {
        for (let i = 0; !state.stopped; i++) {
          const name = `r${round}-w${writerIndex}-${i}`;
          const note = (stored: Stored): void => {
            const revision = Number(stored.metadata.resourceVersion);
            highest = Math.max(highest, revision);
            acknowledged.set(name, { uid: stored.metadata.uid, value: stored.data?.value ?? '', revision });
          };
          try {
            note(
              (
                await requests.must({
                  method: 'POST',
                  path: configMaps,
                  body: configMap(name, { value: 'created', pad: 'x'.repeat(500) }),
                })
              ).json as unknown as Stored,
            );
            if (i % 3 === 0) {
              // From here on either value is right: the answer may be lost.
              acknowledged.set(name, {
                ...(acknowledged.get(name) as { uid: string; revision: number }),
                value: 'any',
              });
              note(
                (
                  await requests.must({
                    method: 'PATCH',
                    path: `${configMaps}/${name}`,
                    headers: { 'content-type': 'application/merge-patch+json' },
                    body: { data: { value: 'patched' } },
                  })
                ).json as unknown as Stored,
              );
            } else if (i % 3 === 1) {
              acknowledged.delete(name);
              await requests.must({ method: 'DELETE', path: `${configMaps}/${name}` });
              deleted.add(name);
            }
          } catch {
            return;
          }
        }
      };
      const writers = Array.from({ length: 16 }, (_, index) => writer(index));
      await eventually(() => expect(acknowledged.size).toBeGreaterThan(200 + 50 * round), { timeout: 30_000 });
      await cluster.process.kill();
      state.stopped = true;
      await Promise.all(writers);

      await cluster.process.start();
      reconnect();
      const found = await listAll();
      const wrong = [...acknowledged].filter(([name, { uid, value }]) => {
        const stored = found.get(name);
        return stored === undefined || stored.metadata.uid !== uid || (value !== 'any' && stored.data?.value !== value);
      });
      expect(wrong).toEqual([]);
      expect([...found.keys()].filter((name) => deleted.has(name))).toEqual([]);
      // Revisions never go back.
      const next = (await requests.must({ method: 'POST', path: configMaps, body: configMap(`after-${round}`) }))
        .json as unknown as Stored;
      expect(Number(next.metadata.resourceVersion)).toBeGreaterThan(highest);
      expect(
        (await requests.must({ path: '/apis/e2e.example.com/v1/namespaces/e2e/gadgets/survivor' })).json,
      ).toMatchObject({ spec: { color: 'blue' } });
      await requests.must({ method: 'DELETE', path: configMaps });
    },
    90_000,
  );
});

describe('watches over an end of the server', () => {
  /** Resumes at a revision; a 410 says that the history is gone, and then a list begins anew. */
  async function resume(resourceVersion: string, expected: readonly string[]): Promise<void> {
    const watch = await requests.watch(`${configMaps}?watch=1&resourceVersion=${resourceVersion}`);
    const lines = (): string[] =>
      watch.events.map(({ type, object }) => `${String(type)} ${(object as Stored).metadata?.name}`);
    await eventually(() => {
      const expired =
        watch.status === 410 ||
        watch.events.some(({ type, object }) => type === 'ERROR' && (object as { code?: number }).code === 410);
      if (!expired) expect(lines()).toEqual(expected);
    });
    watch.close();
  }

  test('kill -9: a watch resumes from its revision without a lost or repeated event, or gets 410', async () => {
    const created = (await requests.must({ method: 'POST', path: configMaps, body: configMap('w1') }))
      .json as unknown as Stored;
    const watch = await requests.watch(`${configMaps}?watch=1&resourceVersion=${created.metadata.resourceVersion}`);
    await requests.must({ method: 'POST', path: configMaps, body: configMap('w2') });
    await eventually(() => expect(watch.events).toHaveLength(1));
    await requests.must({ method: 'POST', path: configMaps, body: configMap('w3') });
    await requests.must({ method: 'DELETE', path: `${configMaps}/w1` });
    const seen = (watch.events[0] as { object: Stored }).object.metadata.resourceVersion;
    await cluster.process.kill();
    await eventually(() => expect(watch.ended).toBe(true));
    await cluster.process.start();
    reconnect();
    await requests.must({ method: 'POST', path: configMaps, body: configMap('w4') });
    await resume(seen, ['ADDED w3', 'DELETED w1', 'ADDED w4']);
    // A revision that never was is not waited for for ever, and one of the future not answered from the past.
    const future = await requests.send({
      path: `${configMaps}?watch=1&timeoutSeconds=1&resourceVersion=${Number(seen) + 1_000_000_000}`,
    });
    expect([200, 504]).toContain(future.status);
    expect(future.text).not.toContain('"w4"');
  }, 120_000);

  test('a graceful stop ends watches properly, finishes what runs, and turns readiness off first', async () => {
    const { resourceVersion } = (await requests.must({ path: `${configMaps}?limit=1` })).json['metadata'] as {
      resourceVersion: string;
    };
    using watching = await RawTls.open(cluster);
    watching.send(
      `GET ${prefix}${configMaps}?watch=1&resourceVersion=${resourceVersion} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${testTokens.masters}\r\n\r\n`,
    );
    expect(await watching.until(() => watching.statuses.length === 1)).toBe('held');
    await requests.must({ method: 'POST', path: configMaps, body: configMap('last-seen') });
    expect(await watching.until(() => watching.received.includes('last-seen'))).toBe('held');
    using begun = await RawTls.open(cluster);
    const body = JSON.stringify(configMap('begun-before-the-stop'));
    begun.send(
      `POST ${prefix}${configMaps} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${testTokens.masters}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
    );
    // A request that the server answers tells that it has read what came before on its sockets.
    await requests.must({ path: configMaps });

    const stopping = cluster.process.stop(20_000);
    expect(await watching.until(() => watching.closed, 10_000)).toBe('held');
    // The last chunk was sent: a client knows that the stream is complete and not torn.
    expect(watching.received.endsWith('0\r\n\r\n')).toBe(true);
    begun.send(body.slice(10));
    expect(await begun.until(() => begun.statuses.length > 0, 10_000)).toBe('held');
    expect(begun.statuses).toEqual([201]);
    begun[Symbol.dispose]();
    requests[Symbol.dispose]();
    await stopping;
    expect(cluster.process.running).toBe(false);

    await cluster.process.start();
    reconnect();
    expect(await listAll().then((all) => all.has('begun-before-the-stop'))).toBe(true);
    await resume(resourceVersion, ['ADDED last-seen', 'ADDED begun-before-the-stop']);
  }, 120_000);
});

test('a second process on the folder refuses, says why, and harms nothing', async () => {
  const [port] = await freePorts(1);
  const command = join(import.meta.dirname, '..', '..', 'bin', 'multiplane');
  const second = promisify(execFile)(
    command,
    ['start', '--root-directory', cluster.path('root'), '--bind-address', '127.0.0.1', '--secure-port', String(port)],
    { timeout: 20_000, killSignal: 'SIGKILL' },
  );
  const failure = (await second.then(
    () => undefined,
    (error: unknown) => error,
  )) as { code: unknown; stderr: string; stdout: string } | undefined;
  expect(failure?.code).toBe(1);
  expect(`${failure?.stderr}${failure?.stdout}`).toMatch(/(in use|another process|already|locked)/i);
  expect(`${failure?.stderr}`).not.toMatch(/^\s+at .*\.js:\d+/m);
  await requests.must({ method: 'POST', path: configMaps, body: configMap('still-writable') });
  expect((await requests.must({ path: `${configMaps}/still-writable` })).status).toBe(200);
});

test('a frozen process answers as before when it goes on, without stale answers', async () => {
  const { resourceVersion } = (await requests.must({ path: `${configMaps}?limit=1` })).json['metadata'] as {
    resourceVersion: string;
  };
  const watch = await requests.watch(`${configMaps}?watch=1&resourceVersion=${resourceVersion}`);
  await cluster.process.freeze();
  const waiting = requests.must({ method: 'POST', path: configMaps, body: configMap('thawed') });
  cluster.process.thaw();
  await waiting;
  expect((await listAll()).has('thawed')).toBe(true);
  await eventually(() => expect(watch.events).toHaveLength(1));
  watch.close();
});
