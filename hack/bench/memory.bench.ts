import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { RawConnection } from './api/raw-client.ts';
import { ServerProcess } from './api/server-process.ts';
import { many } from './load.ts';
import { report } from './report.ts';

/*
 * Whether a server gives its memory back: resident memory a minute after the end of a load, over that of the idle server before,
 * without asking for garbage. `memory.bench.ts crud`, `memory.bench.ts lists`, `--seconds=60` for the length of the load.
 */

const { values, positionals } = parseArgs({
  options: { seconds: { type: 'string', default: '60' } },
  allowPositionals: true,
});
const seconds = Number(values.seconds);
const clients = 64;
const collection = '/clusters/root/api/v1/namespaces/default/configmaps';
const settleMs = 60_000;
const parts = { crud, lists };

console.log('\nMemory after load');
for (const [name, load] of Object.entries(parts)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  const server = await ServerProcess.create();
  await server.start();
  try {
    // The start leaves garbage, too.
    await delay(30_000);
    const idle = server.memory();
    const { what, done } = await load(server);
    const loaded = server.memory();
    await delay(settleMs);
    const after = server.memory();
    const mebibytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;
    report({
      name: `resident memory a minute after ${what}`,
      value: after.resident / idle.resident,
      unit: 'x',
      baseline: 'the idle server before',
      target: { atMost: 1.2 },
      note: `${mebibytes(idle.resident)} idle, ${mebibytes(loaded.resident)} at the end of the load, ${mebibytes(after.resident)} after; ${done}`,
    });
  } finally {
    await server.remove();
  }
}

interface Load {
  readonly what: string;
  /** What was done, for the notes. */
  readonly done: string;
}

function objectText(name: string, data: string): string {
  const metadata = { name, namespace: 'default' };
  return JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { data } });
}

function requester({ token }: ServerProcess): (method: string, path: string, body?: string) => string {
  return (method, path, body = '') =>
    `${method} ${path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${token}\r\naccept: application/json\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

async function onConnections(server: ServerProcess, work: (connection: RawConnection) => Promise<void>): Promise<void> {
  await Promise.all(
    Array.from({ length: clients }, async () => {
      const connection = await RawConnection.open(server.port);
      await work(connection);
      connection.close();
    }),
  );
}

/** Creates, reads and updates at full speed, and then deletes all of it. */
async function crud(server: ServerProcess): Promise<Load> {
  const request = requester(server);
  const until = performance.now() + seconds * 1_000;
  let created = 0;
  let deleted = 0;
  const must = async (connection: RawConnection, text: string, expected: number): Promise<void> => {
    const { status } = await connection.send(text);
    if (status !== expected) throw new Error(`the server answered ${status} instead of ${expected}`);
  };
  await onConnections(server, async (connection) => {
    while (performance.now() < until) {
      const name = `object-${created++}`;
      const path = `${collection}/${name}`;
      await must(connection, request('POST', collection, objectText(name, 'x'.repeat(620))), 201);
      await must(connection, request('GET', path), 200);
      await must(connection, request('PUT', path, objectText(name, 'y'.repeat(620))), 200);
    }
  });
  await onConnections(server, async (connection) => {
    while (deleted < created) await must(connection, request('DELETE', `${collection}/object-${deleted++}`), 200);
  });
  return {
    what: `${seconds} s of CRUD and the deletion of what it made`,
    done: `${created} objects created, read, updated and deleted by ${clients} clients`,
  };
}

/** Lists of 2,000 objects of 1 KiB in JSON, in protobuf, as tables and compressed; the objects are deleted. */
async function lists(server: ServerProcess): Promise<Load> {
  const request = requester(server);
  const transport = server.transport();
  await many(2_000, clients, (n) =>
    transport.json({ method: 'POST', path: collection, body: objectText(`listed-${n}`, 'x'.repeat(620)) }),
  );
  const accepts = [
    'application/json',
    'application/vnd.kubernetes.protobuf',
    'application/json;as=Table;v=v1;g=meta.k8s.io',
    'application/json\r\naccept-encoding: gzip',
  ];
  const until = performance.now() + (seconds * 1_000) / 2;
  let listed = 0;
  await onConnections(server, async (connection) => {
    while (performance.now() < until) {
      const accept = accepts[listed++ % accepts.length] as string;
      await connection.send(request('GET', collection).replace('application/json', accept));
    }
  });
  await transport.json({ method: 'DELETE', path: collection });
  transport.close();
  return { what: `${seconds / 2} s of large lists`, done: `${listed} lists of 2,000 x 1 KiB by ${clients} clients` };
}
