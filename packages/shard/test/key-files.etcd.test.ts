import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { GroupVersionResource, LogicalClusterName } from '@multiplane/apimachinery';
import { EtcdServer, eventually, TempDir } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

let etcd: EtcdServer;
let folder: TempDir;
beforeAll(async () => {
  etcd = await EtcdServer.start();
  folder = await TempDir.create('keys');
}, 60_000);
afterAll(async () => {
  await etcd?.[Symbol.asyncDispose]();
  await folder?.remove();
});

const root = 'root' as LogicalClusterName;
const serviceAccounts: GroupVersionResource = { group: '', version: 'v1', resource: 'serviceaccounts' };
const pair = (): { publicKey: KeyObject; privateKey: KeyObject } => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const file = (name: string, content: string): string => {
  writeFileSync(folder.join(name), content, { mode: 0o600 });
  return folder.join(name);
};
const privateFile = (name: string, key: KeyObject): string =>
  file(name, key.export({ type: 'pkcs8', format: 'pem' }).toString());

test('a broken key of a flag stops the start with the flag and the file', async () => {
  const broken = file('broken.pem', 'no key');
  for (const flag of ['service-account-private-key-file', 'service-account-key-file'])
    await expect(InProcessShard.start(['--storage-backend=memory', `--${flag}=${broken}`])).rejects.toThrow(
      new RegExp(`--${flag}: .*broken\\.pem: not a `),
    );
}, 60_000);

test('tokens of a former key stay valid while --service-account-key-file names it', async () => {
  const [former, next] = [pair(), pair()];
  const etcdFlag = `--etcd-servers=${etcd.endpoint}`;
  let token = '';
  {
    const key = privateFile('former.key', former.privateKey);
    await using shard = await InProcessShard.start([etcdFlag, `--service-account-private-key-file=${key}`]);
    await eventually(() =>
      shard.client.create(serviceAccounts, root, {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: 'builder', namespace: 'default' },
      }),
    );
    const answer = await shard.transport.json({
      method: 'POST',
      path: '/clusters/root/api/v1/namespaces/default/serviceaccounts/builder/token',
      body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }),
    });
    ({ token } = (answer as unknown as { status: { token: string } }).status);
  }
  const key = privateFile('next.key', next.privateKey);
  const review = async (...flags: string[]): Promise<boolean | undefined> => {
    await using shard = await InProcessShard.start([etcdFlag, `--service-account-private-key-file=${key}`, ...flags]);
    const answer = await shard.transport.json({
      method: 'POST',
      path: '/clusters/root/apis/authentication.k8s.io/v1/tokenreviews',
      body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } }),
    });
    return (answer as unknown as { status: { authenticated?: boolean } }).status.authenticated;
  };
  const publicPem = former.publicKey.export({ type: 'spki', format: 'pem' }).toString();
  expect(await review()).not.toBe(true);
  expect(await review(`--service-account-key-file=${file('former.pub', publicPem)}`)).toBe(true);
}, 120_000);
