import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import { ProxyFixture } from '../test/proxy-fixture.ts';

let proxy: ProxyFixture;
beforeAll(async () => {
  proxy = await ProxyFixture.start();
});
afterAll(() => proxy?.stop());

test('a connection whose token the shard accepted outlives a flood; one without a user does not', async () => {
  const [known, refused, anonymous] = [proxy.session(), proxy.session(), proxy.session()];
  const state = { known: false, refused: false, anonymous: false };
  known.on('close', () => (state.known = true));
  refused.on('close', () => (state.refused = true));
  anonymous.on('close', () => (state.anonymous = true));
  const ask = async (session: ReturnType<ProxyFixture['session']>, headers: Record<string, string>): Promise<void> => {
    const stream = session.request({ ':path': '/clusters/root/api', ...headers });
    stream.resume();
    await once(stream, 'close');
  };
  await ask(known, { authorization: 'Bearer known-to-the-shard' });
  proxy.root.answer = async (exchange) => exchange.respond(401, '');
  await ask(refused, { authorization: 'Bearer made-up' });
  proxy.root.answer = undefined;
  await ask(anonymous, { authorization: 'Basic eDp5' });

  const flood: Socket[] = [];
  let connected = 0;
  for (let i = 0; i < 1_100; i++) {
    const socket = connect(proxy.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.once('connect', () => connected++);
    flood.push(socket);
    if (i % 100 === 99) await eventually(() => expect(connected).toBe(i + 1));
  }
  try {
    await eventually(() => expect(state).toEqual({ known: false, refused: true, anonymous: true }));
    await ask(known, { authorization: 'Bearer known-to-the-shard' });
    expect(state.known).toBe(false);
  } finally {
    for (const socket of flood) socket.destroy();
  }
}, 60_000);
