import { expect, test } from '@jest/globals';
import { RestTransport } from '@multiplane/client';
import { eventually, freePorts, TempDir } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

/** What a request gets that shows no credentials, or those of an administrator. */
async function ask(transport: RestTransport, path: string) {
  const response = await transport.open({ method: 'GET', path });
  let body = '';
  for await (const chunk of response) body += String(chunk);
  return { status: response.statusCode, retryAfter: response.headers['retry-after'], body };
}

test('a shard that is starting says how it is, and asks everybody else to come back', async () => {
  const folder = await TempDir.create('starting');
  const [port] = await freePorts(1);
  const gate = Promise.withResolvers<void>();
  const asked: string[] = [];
  // It stands for whatever takes long: a store that is read, a server that is waited for.
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
