import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { NatsServer } from './nats-server.ts';

test('serves JetStream on loopback, and again after a crash on the same port', async () => {
  await using nats = await NatsServer.start();
  expect(await greeting(nats.port)).toMatchObject({ jetstream: true });
  await nats.process.kill();
  await nats.process.restart();
  expect(await greeting(nats.port)).toMatchObject({ jetstream: true });
});

/** What a NATS server says first: `INFO {…}`. */
async function greeting(port: number): Promise<unknown> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8');
  const [text] = (await once(socket, 'data')) as [string];
  socket.destroy();
  return JSON.parse(text.slice('INFO '.length)) as unknown;
}
