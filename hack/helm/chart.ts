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
    'console.enabled=true',
    'console.externalUrl=https://console.example.org',
    'console.configSecret=console-config',
    'console.ingress.enabled=true',
    'console.ingress.hostname=console.example.org',
    'console.ingress.className=nginx',
    'console.ingress.annotations.team=platform',
    'console.ingress.tlsSecret=console-tls',
    'console.monitoring.serviceMonitor.enabled=true',
    'kcpFrontProxy.service.type=LoadBalancer',
    'kcpFrontProxy.ingress.enabled=true',
    'kcpFrontProxy.openshiftRoute.enabled=true',
    'kcpFrontProxy.gateway.enabled=true',
    'kcpFrontProxy.gateway.parentRef.name=gateway',
  ],
};

/** Servers whose values have the same keys for pods. */
const servers = ['kcp', 'kcpFrontProxy', 'cache', 'virtualWorkspaces', 'console'];
const ofAll = (...settings: readonly string[]): string[] =>
  servers.flatMap((server) => settings.map((setting) => `${server}.${setting}`));

/** Further values that are rendered where there is a Helm; with `releases` they set every documented value once. */
export const matrix: Readonly<Record<string, readonly string[]>> = {
  ...releases,
  'one-replica': [
    'externalHostname=api.example.org',
    'shards[0].name=root',
    'nats.configSecretName=nats-config',
    ...servers.map((server) => `${server}.replicas=1`),
    'etcd.podDisruptionBudget.enabled=true',
    'etcd.podDisruptionBudget.maxUnavailable=1',
    'audit.enabled=true',
    'audit.policy.config=level: Metadata',
    'kcp.leaderElection.enabled=false',
    'prometheusRules.enabled=true',
    'virtualWorkspaces.enabled=false',
  ],
  'shared-etcd': [
    'externalHostname=api.example.org',
    'kcp.etcd.serverAddress=https://etcd-a:2379\\,https://etcd-b:2379',
    'kcp.etcd.clientCertificate.issuer=etcd-issuer',
    'shards[0].name=root',
    'shards[0].etcd.prefix=/root',
    'shards[1].name=eu',
    'shards[1].etcd.prefix=/eu',
    'nats.servers[0]=nats://a:4222',
    'nats.servers[1]=nats://b:4222',
    'nats.stream=cache',
    'nats.subjectPrefix=cache',
  ],
  'shard-values': [
    'externalHostname=api.example.org',
    'kcp.image=registry.example.org/multiplane',
    'kcp.tag=1.0.0',
    'shards[0].name=root',
    'shards[0].tokenAuth.enabled=true',
    'shards[0].tokenAuth.fileName=tokens.csv',
    'shards[0].tokenAuth.config=secret\\,user-1\\,1',
    'shards[1].name=eu',
    'shards[1].tag=1.1.0',
    'shards[1].pullPolicy=Always',
    'shards[1].homeWorkspaces.enabled=false',
    'shards[1].podDisruptionBudget.maxUnavailable=1',
    'shards[1].monitoring.serviceMonitor.enabled=true',
    'shards[1].resources.limits.memory=4Gi',
    'shards[1].nodeSelector.zone=eu-1',
    'shards[1].batteries={workspace-types,admin}',
    'shards[1].v=4',
    'kcpFrontProxy.openshiftRoute.annotations.team=platform',
    'kcpFrontProxy.openshiftRoute.enabled=true',
    'kcpFrontProxy.gateway.enabled=true',
    'kcpFrontProxy.gateway.parentRef.name=gateway',
    'kcpFrontProxy.gateway.parentRef.namespace=infra',
    'kcpFrontProxy.gateway.parentRef.sectionName=tls',
  ],
  pods: [
    'externalHostname=api.example.org',
    'global.imagePullSecrets[0].name=registry',
    'console.enabled=true',
    ...ofAll(
      'strategy.type=Recreate',
      'v=3',
      'extraFlags[0]=--shutdown-delay-duration=7s',
      'resources.requests.cpu=1',
      'securityContext.supplementalGroups[0]=4000',
      'podSecurityContext.fsGroupChangePolicy=OnRootMismatch',
      'containerSecurityContext.privileged=false',
      'monitoring.serviceMonitor.enabled=true',
      'monitoring.serviceMonitor.interval=10s',
      'podDisruptionBudget.maxUnavailable=25%',
      'hostAliases.enabled=true',
      'hostAliases.values[0].ip=10.0.0.7',
      'hostAliases.values[0].hostnames[0]=api.example.org',
      'nodeSelector.disk=fast',
      'tolerations[0].key=dedicated',
      'tolerations[0].operator=Exists',
      'affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key=zone',
      'affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator=Exists',
      'topologySpreadConstraints[0].maxSkew=1',
      'topologySpreadConstraints[0].topologyKey=zone',
      'topologySpreadConstraints[0].whenUnsatisfiable=ScheduleAnyway',
      'podAnnotations.team=platform',
      'extraVolumes[0].name=more',
      'extraVolumes[0].emptyDir.sizeLimit=1Gi',
      'extraVolumeMounts[0].name=more',
      'extraVolumeMounts[0].mountPath=/more',
    ),
    'kcp.featureGates.WorkspaceMounts=true',
    'kcp.batteries={workspace-types,admin,user}',
    'kcp.homeWorkspaces.enabled=false',
    'audit.enabled=true',
    'audit.log.dir=/var/log/audit',
    'audit.log.maxAge=3',
    'audit.log.maxSize=100',
    'audit.log.maxBackup=5',
    'authentication.configMapRef.name=authentication',
    'authentication.configMapRef.key=authentication.yaml',
    ...['etcd', 'nats'].flatMap((storage) =>
      [
        `image=registry.example.org/${storage}`,
        'tag=v1',
        'resources.requests.cpu=1',
        'volumeSize=1Gi',
        'storageClassName=fast',
        'podSecurityContext.fsGroupChangePolicy=OnRootMismatch',
        'containerSecurityContext.privileged=false',
        'nodeSelector.disk=fast',
        'tolerations[0].operator=Exists',
        'affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight=1',
        'affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey=zone',
      ].map((setting) => `${storage}.${setting}`),
    ),
    'etcd.quotaBackendBytes=2147483648',
    'etcd.profiling.enabled=true',
    'etcd.monitoring.serviceMonitor.enabled=true',
    'etcd.monitoring.serviceMonitor.interval=10s',
    'etcd.podDisruptionBudget.enabled=true',
  ],
  address: [
    'externalHostname=10.1.2.3',
    'externalPort=6443',
    'kcpFrontProxy.service.type=NodePort',
    'kcpFrontProxy.service.nodePort=30443',
    'kcpFrontProxy.service.annotations.team=platform',
    'kcpFrontProxy.extraDNSNames={kcp.example.org,10.1.2.4}',
    'kcpFrontProxy.dropGroups={system:masters,admins}',
    'kcpFrontProxy.passOnGroups={system:kcp:admin}',
    'kcpFrontProxy.additionalPathMappings[0].path=/docs/',
    'kcpFrontProxy.additionalPathMappings[0].backend=https://docs.example.org',
    'kcpFrontProxy.additionalPathMappings[0].backend_server_ca=/pki/serving-ca.crt',
    'oidc.enabled=true',
    'oidc.issuerUrl=https://login.example.org',
    'oidc.clientId=multiplane',
    'oidc.usernameClaim=email',
    'oidc.usernamePrefix=oidc:',
    'oidc.groupClaim=groups',
    'oidc.groupPrefix=oidc:',
    'oidc.caSecretName=login-ca',
    'oidc.caSecretKeyName=ca.crt',
  ],
  issuers: [
    'externalHostname=api.example.org',
    'externalPort=8443',
    ...ofAll('podDisruptionBudget.enabled=true', 'podDisruptionBudget.minAvailable=50%'),
    'cache.podDisruptionBudget.enabled=false',
    'certificates.rootIssuer.name=company',
    'certificates.rootIssuer.kind=ClusterIssuer',
    'certificates.rootIssuer.group=cert-manager.io',
    'certificates.workspaceAuthority.secretName=workspaces-ca',
    'certificates.duration=720h',
    'certificates.renewBefore=240h',
    'certificates.authorityDuration=8760h',
    'certificates.dnsNames={plane.example.org}',
    'certificates.ipAddresses={10.0.0.9,fd00::1}',
    'kcpFrontProxy.ingress.enabled=true',
    'kcpFrontProxy.ingress.className=nginx',
    'kcpFrontProxy.ingress.annotations.team=platform',
    'kcpFrontProxy.service.type=LoadBalancer',
    'kcpFrontProxy.service.loadBalancerIP=10.0.0.9',
  ],
};

/** Arguments of `helm template` for one of them. */
export function templateArguments(release: string): string[] {
  return ['template', 'mp', chartFolder, '--namespace=tenants', '--kube-version=1.32.0', ...setArguments(release)];
}

/** `--set` for each value of a release. */
export function setArguments(release: string): string[] {
  return (matrix[release] ?? []).flatMap((value) => ['--set', value]);
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
