import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NatsServer, TempDir, testCertificates } from '@multiplane/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { connect } from 'nats';
import { bytes, shardKeys, truth } from '../../test/jetstream/stream-setting.ts';
import { openJetStreamStorage } from './open-jetstream-storage.ts';

let shared: NatsServer;
beforeAll(async () => {
  shared = await NatsServer.start();
});
afterAll(async () => {
  await shared[Symbol.asyncDispose]();
});

describe('opening the stream', () => {
  test('with a token, and certificates on both sides', async () => {
    await using folder = await TempDir.create('nats-tls');
    const certificates = await testCertificates();
    const client = await certificates.client('shard');
    const file = async (name: string, text: string): Promise<string> => {
      await writeFile(folder.join(name), text);
      return folder.join(name);
    };
    const caFile = await file('ca.crt', certificates.authorityPem);
    await using server = await NatsServer.start({
      extraArgs: [
        '--auth=first-token',
        '--tlsverify',
        `--tlscert=${await file('server.crt', certificates.server.certificatePem)}`,
        `--tlskey=${await file('server.key', certificates.server.privateKeyPem)}`,
        `--tlscacert=${caFile}`,
      ],
    });
    const tokenFile = await file('token', 'first-token\n');
    const tls = {
      caFile,
      certFile: await file('client.crt', client.certificatePem),
      keyFile: await file('client.key', client.privateKeyPem),
    };
    const target = { servers: [`127.0.0.1:${server.port}`], stream: 's', subjectPrefix: 's', requestTimeoutMs: 2000 };
    const store = await openJetStreamStorage({ ...target, tls, tokenFile });
    await store.create(`${shardKeys('a')}c/1`, bytes('1'));
    expect(await truth(store)).toEqual(new Map([[`${shardKeys('a')}c/1`, '1']]));
    await store.close();
    for (const refused of [{}, { tls }, { tls: { caFile }, tokenFile }])
      await expect(openJetStreamStorage({ ...target, ...refused })).rejects.toMatchObject({ code: 'Unavailable' });
  });

  test('with an encryption key of NATS nothing is plain in its files, and it is read after a restart', async () => {
    const marker = 'plain-text-of-a-tenant';
    const plainIn = (server: NatsServer): boolean =>
      readdirSync(server.data, { recursive: true, withFileTypes: true }).some(
        (entry) => entry.isFile() && readFileSync(join(entry.parentPath, entry.name), 'latin1').includes(marker),
      );
    for (const jetstream of [undefined, 'cipher: chachapoly, key: "a-key-of-the-operator-of-this-test"']) {
      await using server = await NatsServer.start({ jetstream });
      const target = { servers: [server.url], stream: 's', subjectPrefix: 's' };
      const store = await openJetStreamStorage(target);
      await store.create(`${shardKeys('a')}c/1`, bytes(marker));
      await store.close();
      await server.process.stop();
      expect(plainIn(server)).toBe(jetstream === undefined);
      await server.process.start();
      const again = await openJetStreamStorage(target);
      expect(await truth(again)).toEqual(new Map([[`${shardKeys('a')}c/1`, marker]]));
      await again.close();
    }
  });

  test('a stream with another configuration is refused', async () => {
    const nats = await connect({ servers: shared.url });
    await (await nats.jetstreamManager()).streams.add({ name: 'foreign', subjects: ['foreign.>'] });
    await nats.close();
    await expect(
      openJetStreamStorage({ servers: [shared.url], stream: 'foreign', subjectPrefix: 'foreign' }),
    ).rejects.toMatchObject({ code: 'Unusable' });
  });

  test('a missing NATS is reported immediately', async () => {
    await expect(
      openJetStreamStorage({ servers: ['nats://127.0.0.1:1'], stream: 's', subjectPrefix: 's', requestTimeoutMs: 500 }),
    ).rejects.toMatchObject({ code: 'Unavailable' });
  });
});
