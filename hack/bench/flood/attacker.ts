import { connect as connectHttp2, constants, type ClientHttp2Session } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';

/*
 * One tenant at full speed, in a process of its own: `attacker.ts PORT TOKEN WORKSPACE KIND MILLISECONDS`. Prints the number
 * of responses by status.
 */
const [port = '', token = '', workspace = '', kind = '', milliseconds = ''] = process.argv.slice(2);
const base = `/clusters/${workspace}`;
const deadline = performance.now() + Number(milliseconds);
const statuses: Record<string, number> = {};
const count = (status: string): void => void (statuses[status] = (statuses[status] ?? 0) + 1);
const isOver = (): boolean => performance.now() >= deadline;

const connections = 64;
const pipelined = 10;
const statusLine = Buffer.from('HTTP/1.1 ');

/** Keeps {@link pipelined} requests without a response on one connection; reconnects when the server closes it. */
function flood(request: (n: number) => string): Promise<void> {
  return new Promise((resolve) => {
    let number = 0;
    const open = (): void => {
      const socket: TLSSocket = connect({ host: '127.0.0.1', port: Number(port), rejectUnauthorized: false }, () => {
        let tail = Buffer.alloc(0);
        const send = (times: number): void => {
          let text = '';
          for (let i = 0; i < times; i++) text += request(number++);
          socket.write(text);
        };
        socket.on('data', (data: Buffer) => {
          const all = tail.length === 0 ? data : Buffer.concat([tail, data]);
          let answered = 0;
          let from = 0;
          for (let at = all.indexOf(statusLine); at >= 0 && at + 12 <= all.length; at = all.indexOf(statusLine, from)) {
            from = at + 12;
            count(all.toString('latin1', at + 9, from));
            answered++;
          }
          tail = Buffer.from(all.subarray(Math.max(from, all.length - 11)));
          if (isOver()) socket.destroy();
          else if (answered > 0) send(answered);
        });
        send(pipelined);
      });
      const timer = setTimeout(() => socket.destroy(), Math.max(0, deadline - performance.now()) + 100);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        clearTimeout(timer);
        if (isOver()) resolve();
        else setTimeout(open, 20);
      });
    };
    open();
  });
}

const head = (method: string, path: string, ...lines: string[]): string =>
  [`${method} ${base}${path} HTTP/1.1`, 'host: bench', `authorization: Bearer ${token}`, ...lines, '', ''].join('\r\n');
const withBody = (method: string, path: string, type: string, body: string): string =>
  head(method, path, `content-type: ${type}`, `content-length: ${Buffer.byteLength(body)}`) + body;

const everywhere = (request: (n: number) => string): Promise<unknown> =>
  Promise.all(Array.from({ length: connections }, () => flood(request)));

const keys = JSON.stringify(Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`key-${i}`, `value ${i}`])));
const run = `${process.pid}-${Date.now()}`;
let definitions = 0;

function definition(): string {
  const name = `flood${run.replace('-', 'x')}n${definitions++}`;
  const properties = Object.fromEntries(
    Array.from({ length: 130 }, (_, i) => [`field${i}`, { type: 'string', maxLength: 100, pattern: `^[a-z${i}]*$` }]),
  );
  return JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${name}s.flood.example.com` },
    spec: {
      group: 'flood.example.com',
      scope: 'Namespaced',
      names: { plural: `${name}s`, singular: name, kind: `Kind${name}`, listKind: `Kind${name}List` },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } } },
        },
      ],
    },
  });
}

/** Opens 2,000 watches with initial events over 20 sessions, closes them and begins again. */
async function watchStorm(): Promise<void> {
  while (!isOver()) {
    const sessions: ClientHttp2Session[] = [];
    const opened: Promise<unknown>[] = [];
    for (let i = 0; i < 20; i++) {
      const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
      session.on('error', () => undefined);
      sessions.push(session);
      for (let k = 0; k < 100; k++) {
        const stream = session.request({
          ':path': `${base}/api/v1/namespaces/few/configmaps?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
          authorization: `Bearer ${token}`,
        });
        stream.on('error', () => undefined);
        stream.on('data', () => undefined);
        opened.push(
          new Promise<void>((resolve) => {
            stream.on('response', (headers) => {
              count(String(headers[':status']));
              resolve();
            });
            stream.on('close', () => resolve());
          }),
        );
      }
    }
    await Promise.race([Promise.all(opened), delay(Math.max(0, deadline - performance.now()))]);
    await delay(Math.min(300, Math.max(0, deadline - performance.now())));
    for (const session of sessions) session.destroy();
  }
}

const applied = (n: number): string => {
  const name = `applied-${n % 20}`;
  const body = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}"},"data":${keys.slice(0, -1)},"changed":"${run}-${n}"}}`;
  return withBody(
    'PATCH',
    `/api/v1/namespaces/many/configmaps/${name}?fieldManager=flood&force=true`,
    'application/apply-patch+yaml',
    body,
  );
};

/** How long clients wait for a response before they leave: not at all, or so long that their request is being processed. */
const patience = (n: number): number => (n % 2) * (n % 200);

/** Sends 200 applies at a time, each on a connection of its own that is closed after the request. */
async function leavingClients(): Promise<void> {
  let number = 0;
  const apply = (): Promise<void> =>
    new Promise((resolve) => {
      const n = number++;
      const socket: TLSSocket = connect({ host: '127.0.0.1', port: Number(port), rejectUnauthorized: false }, () => {
        socket.write(applied(n), () => {
          count('left');
          if (patience(n) === 0) socket.destroy();
          else setTimeout(() => socket.destroy(), patience(n));
        });
      });
      socket.on('error', () => undefined);
      socket.on('close', () => resolve());
    });
  while (!isOver()) await Promise.race([Promise.all(Array.from({ length: 200 }, apply)), delay(1_000)]);
}

/** The same over HTTP/2: 200 applies at a time over one connection, whose streams are reset once they are written. */
async function resetStreams(): Promise<void> {
  let number = 0;
  const path = (n: number): string =>
    `${base}/api/v1/namespaces/many/configmaps/applied-${n % 20}?fieldManager=flood&force=true`;
  while (!isOver()) {
    const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    session.on('error', () => undefined);
    const apply = (): Promise<void> =>
      new Promise((resolve) => {
        const n = number++;
        const stream = session.request({
          ':method': 'PATCH',
          ':path': path(n),
          authorization: `Bearer ${token}`,
          'content-type': 'application/apply-patch+yaml',
        });
        stream.on('error', () => undefined);
        stream.on('close', () => resolve());
        const request = applied(n);
        stream.end(request.slice(request.indexOf('\r\n\r\n') + 4), () => {
          count('left');
          setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), patience(n));
        });
      });
    await Promise.race([Promise.all(Array.from({ length: 200 }, apply)), delay(1_000)]);
    session.destroy();
  }
}

const kinds: Record<string, () => Promise<unknown>> = {
  get: () => everywhere(() => head('GET', '/api/v1/namespaces/many/configmaps/object-0')),
  list: () => everywhere(() => head('GET', '/api/v1/namespaces/many/configmaps')),
  apply: () => everywhere(applied),
  leaving: leavingClients,
  resets: resetStreams,
  openapi: () => everywhere((n) => head('GET', n % 2 === 0 ? '/openapi/v2' : '/openapi/v3/api/v1')),
  watch: watchStorm,
  definitions: () =>
    everywhere(() =>
      withBody('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', 'application/json', definition()),
    ),
};
await kinds[kind]?.();
console.log(JSON.stringify(statuses));
process.exit(0);
