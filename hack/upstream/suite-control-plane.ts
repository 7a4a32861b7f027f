import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { clientConfigOf, readKubeconfig, type ClientConfig } from '../../packages/client/src/index.ts';
import { LocalCluster } from '../../e2e/harness/local-cluster.ts';
import { ShardedCluster } from '../../e2e/harness/sharded-cluster.ts';
import type { Profile } from './suite-arguments.ts';

export interface SuiteControlPlaneOptions {
  readonly profile: Profile;
  /** Lines of the token file. */
  readonly tokens: readonly string[];
  /** Flags of all servers. */
  readonly flags?: readonly string[];
}

/** A control plane with the files that kcp's own launcher writes, where suites look for them. */
export interface SuiteControlPlane extends AsyncDisposable {
  /** Of the administrator. */
  readonly kubeconfig: string;
  /** By the name of the shard; empty when there is one server. */
  readonly shardKubeconfigs: Readonly<Record<string, string>>;
}

/** kcp's tests sign client certificates with RSA, by the authority `client-ca` in the folder of the kubeconfig. */
function makeClientAuthority(folder: string): string {
  const [key, certificate] = [join(folder, 'client-ca.key'), join(folder, 'client-ca.crt')];
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '7', '-subj', '/CN=kcp-e2e-client-ca'];
  execFileSync('openssl', [...request, '-keyout', key, '-out', certificate], { stdio: 'ignore' });
  return certificate;
}

/** A kubeconfig as kcp's tests read it: they do not resolve paths in it. */
function selfContained(name: string, { server, ca, certificate, key }: ClientConfig): string {
  const data = (pem = ''): string => Buffer.from(pem).toString('base64');
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, 'certificate-authority-data': data(ca) } }],
    users: [{ name, user: { 'client-certificate-data': data(certificate), 'client-key-data': data(key) } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  });
}

const regions = ['us-east-2', 'us-west-1', 'eu-west-1'];

/** kcp's launcher gives all shards these labels, which partitions of its tests select. */
async function labelShards(cluster: ShardedCluster): Promise<void> {
  const transport = cluster.transport('base');
  for (const [index, shard] of cluster.shards.entries())
    await transport.json({
      method: 'PATCH',
      path: `/clusters/root/apis/core.kcp.io/v1alpha1/shards/${shard}`,
      contentType: 'application/merge-patch+json',
      body: JSON.stringify({ metadata: { labels: { region: regions[index % regions.length], shared: 'true' } } }),
    });
  transport.close();
}

/** Starts a control plane, and writes into `work` the files that kcp's launcher has there. */
export async function startSuiteControlPlane(
  work: string,
  { profile, tokens, flags = [] }: SuiteControlPlaneOptions,
): Promise<SuiteControlPlane> {
  const folder = join(work, '.kcp');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const kubeconfig = join(folder, 'admin.kubeconfig');
  const authority = makeClientAuthority(folder);
  const common = [...flags, '--webhook-allowed-networks=127.0.0.0/8'];
  if (profile === 'all-in-one') {
    const cluster = await LocalCluster.start({ tokens, flags: [...common, `--client-ca-file=${authority}`] });
    copyFileSync(cluster.kubeconfig, kubeconfig);
    for (const file of ['apiserver.crt', 'apiserver.key']) copyFileSync(cluster.path('root', file), join(folder, file));
    writeFileSync(join(folder, 'ready-to-test'), '');
    return { kubeconfig, shardKubeconfigs: {}, [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose]() };
  }
  const cluster = await ShardedCluster.start({
    tokens,
    flags: common,
    frontProxyFlags: common,
    extraClientCa: authority,
    mappings: [{ path: '/e2e/clusters/{cluster}/', backend: 'https://localhost:2443' }],
  });
  copyFileSync(cluster.kubeconfig, kubeconfig);
  await labelShards(cluster);
  // Webhooks of the tests serve with this certificate, which the authority in the kubeconfig verifies.
  for (const end of ['crt', 'key'])
    copyFileSync(cluster.path('pki', 'front-proxy', `tls.${end}`), join(folder, `apiserver.${end}`));
  const copyKubeconfig = (name: string, context: string, to: string): string => {
    const from = cluster.path('pki', `${name}.kubeconfig`);
    const file = join(work, to);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, selfContained(context, clientConfigOf(readKubeconfig(from), from, context)), { mode: 0o600 });
    return file;
  };
  copyKubeconfig('cache', 'cache', '.kcp-cache/cache.kubeconfig');
  const shardKubeconfigs = Object.fromEntries(
    cluster.shards.map((shard, index) => [
      shard,
      copyKubeconfig(`shard-${shard}`, 'shard-base', `.kcp-${index}/admin.kubeconfig`),
    ]),
  );
  writeFileSync(join(folder, 'ready-to-test'), '');
  return { kubeconfig, shardKubeconfigs, [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose]() };
}
