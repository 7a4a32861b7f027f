import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const deploy = join(import.meta.dirname, '..', '..', 'deploy', 'helm');
export const chartFolder = join(deploy, 'multiplane');
export const renderedFolder = join(deploy, 'rendered');

/** Releases that are rendered and committed: name → what is set. All are called `mp` and live in `tenants`. */
export const releases: Readonly<Record<string, readonly string[]>> = {
  default: ['externalHostname=api.example.org'],
  // Everything from outside that can come from outside, and every way in.
  external: [
    'externalHostname=api.example.org',
    'certificates.source=secrets',
    'shards[0].name=root',
    'shards[0].etcd.serverAddress=https://etcd-0.example.org:2379',
    'shards[0].etcd.clientCertificate.secretName=etcd-0-client',
    'shards[1].name=eu',
    'shards[1].replicas=3',
    'shards[1].etcd.serverAddress=https://etcd-1.example.org:2379',
    'shards[1].etcd.clientCertificate.secretName=etcd-1-client',
    'etcd.enabled=false',
    'nats.enabled=false',
    'nats.servers[0]=nats://nats.example.org:4222',
    'nats.clientSecretName=nats-client',
    'virtualWorkspaces.enabled=false',
    'kcp.tokenAuth.enabled=true',
    'kcp.tokenAuth.secretName=tokens',
    'audit.enabled=true',
    'oidc.enabled=true',
    'oidc.issuerUrl=https://login.example.org',
    'oidc.clientId=multiplane',
    'oidc.caSecretName=login-ca',
    'kcp.monitoring.serviceMonitor.enabled=true',
    'cache.monitoring.serviceMonitor.enabled=true',
    'kcpFrontProxy.service.type=LoadBalancer',
    'kcpFrontProxy.ingress.enabled=true',
    'kcpFrontProxy.openshiftRoute.enabled=true',
    'kcpFrontProxy.gateway.enabled=true',
    'kcpFrontProxy.gateway.parentRef.name=gateway',
  ],
};

/** Arguments of `helm template` for one of them. */
export function templateArguments(release: string): string[] {
  const values = (releases[release] ?? []).flatMap((value) => ['--set', value]);
  return ['template', 'mp', chartFolder, '--namespace=tenants', '--kube-version=1.32.0', ...values];
}

/** First line of a rendering: what it was made of, so that a stale one is seen without Helm. */
export function sourceLine(release: string): string {
  const hash = createHash('sha256').update(JSON.stringify(releases[release]));
  const files = readdirSync(chartFolder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
  for (const file of files) hash.update(`${file.slice(chartFolder.length)}\n`).update(readFileSync(file));
  return `# Rendered by hack/helm/render.ts from a chart with the hash ${hash.digest('hex')}\n`;
}
