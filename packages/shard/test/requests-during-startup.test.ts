import { expect, test } from '@jest/globals';
import { RestTransport } from '@multiplane/client';
import { eventually, freePorts, TempDir } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

/** The response to a GET request. */
async function ask(transport: RestTransport, path: string) {
  const response = await transport.open({ method: 'GET', path });
  let body = '';
  for await (const chunk of response) body += String(chunk);
  return { status: response.statusCode, retryAfter: response.headers['retry-after'], body };
}

test('a starting shard serves health checks and returns 503 with Retry-After for all other requests', async () => {
  const folder = await TempDir.create('starting');
  const [port] = await freePorts(1);
  const gate = Promise.withResolvers<void>();
  const asked: string[] = [];
  // Stands for any slow part of the start.
  const slow = {
    pathPrefix: '/services/slow/',
    runnables: [{ name: 'slow', start: () => gate.promise, stop: async () => undefined }],
    handle: async (exchange: { url: string; respond: (status: number, body: string) => void }) => {
      asked.push(exchange.url);
      exchange.respond(200, 'fast');
    },
  };
  const flags = ['--storage-backend=memory', `--secure-port=${port}`];
  const starting = InProcessShard.start(flags, folder, [() => slow]);
  const transport = new RestTransport({ config: { server: `https://127.0.0.1:${port}`, insecure: true } });
  await eventually(async () => expect((await ask(transport, '/livez')).body).toBe('ok'));
  const { status, body } = await ask(transport, '/readyz');
  expect([status, body]).toEqual([500, expect.stringContaining('[-]startup failed')]);
  for (const path of ['/clusters/root/api/v1/namespaces', '/clusters/root:x/apis', '/version', '/services/slow/x']) {
    const answer = await ask(transport, path);
    expect([path, answer.status, answer.retryAfter]).toEqual([path, 503, '1']);
    expect(JSON.parse(answer.body)).toMatchObject({ kind: 'Status', reason: 'ServiceUnavailable' });
  }
  expect(asked).toEqual([]);
  gate.resolve();
  const shard = await starting;
  expect((await ask(transport, '/services/slow/x')).body).toBe('fast');
  expect((await ask(transport, '/version')).status).toBe(200);
  transport.close();
  await shard[Symbol.asyncDispose]();
}, 60_000);
