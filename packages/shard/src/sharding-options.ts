import { existsSync } from 'node:fs';
import { OptionError, type OptionTable, type OptionValues } from '@multiplane/component-base';
import type { requestHeaderOptionTable } from '@multiplane/generic-server';
import { isShardName } from '@multiplane/storage';

/** Flags for several shards (kcp `pkg/server/options`). */
export const sharding = {
  'shard-virtual-workspace-url': {
    type: 'text',
    description: 'URL of the virtual workspaces of this shard; default: the base URL.',
  },
  'shard-virtual-workspace-ca-file': {
    type: 'text',
    description: 'CA bundle that verifies an external virtual workspace server.',
  },
  'run-virtual-workspaces': {
    type: 'boolean',
    default: true,
    description: 'Serve virtual workspaces in this process; otherwise /services/ is proxied to their URL.',
  },
  'shard-client-cert-file': {
    type: 'text',
    description: 'Client certificate for proxied requests.',
  },
  'shard-client-key-file': { type: 'text', description: 'Key of that certificate.' },
  'mount-proxy-client-cert-file': {
    type: 'text',
    description: 'Client certificate for the targets of workspace mounts; with it, the user is forwarded in headers.',
  },
  'mount-proxy-client-key-file': { type: 'text', description: 'Key of that certificate.' },
  'virtual-resource-ca-file': {
    type: 'text',
    description:
      'CA bundle of servers outside of this control plane that may serve virtual resources; default: there are none.',
  },
  'virtual-resource-client-cert-file': {
    type: 'text',
    description: 'Client certificate for these servers; with it, the user is forwarded in headers.',
  },
  'virtual-resource-client-key-file': { type: 'text', description: 'Key of that certificate.' },
  'shard-kubeconfig-file': {
    type: 'text',
    description: 'Kubeconfig for other shards if --logical-cluster-admin-kubeconfig is not set.',
  },
  'root-shard-kubeconfig-file': {
    type: 'text',
    description: 'Kubeconfig for the root shard (context shard-base).',
  },
  'logical-cluster-admin-kubeconfig': {
    type: 'text',
    description: 'Kubeconfig of the identity that creates logical clusters on other shards at their base URLs.',
  },
  'external-logical-cluster-admin-kubeconfig': {
    type: 'text',
    description:
      'Kubeconfig of the identity that reads and deletes logical clusters of other shards through the front-proxy.',
  },
  'cache-kubeconfig': {
    type: 'text',
    aliases: ['cache-server-kubeconfig-file'],
    description: 'Kubeconfig of the cache server; default: the embedded cache server.',
  },
  'enable-leader-election': {
    type: 'boolean',
    default: false,
    description: 'Elect one of several replicas of this shard to run the controllers.',
  },
  'leader-election-namespace': {
    type: 'text',
    default: 'kube-system',
    description: 'Namespace of the lease, in the logical cluster system:admin.',
  },
  'leader-election-name': { type: 'text', default: 'kcp-controllers', description: 'Name of the lease.' },
  'leader-election-lease-duration': {
    type: 'duration',
    default: '60s',
    min: '100ms',
    max: '1h',
    description: 'Time after the last renewal before another replica may acquire the lease.',
  },
  'leader-election-renew-deadline': {
    type: 'duration',
    default: '5s',
    min: '100ms',
    max: '1h',
    description: 'Time after which a leader that cannot renew the lease stops leading; less than the lease duration.',
  },
  'leader-election-retry-period': {
    type: 'duration',
    default: '2s',
    min: '100ms',
    max: '1h',
    description: 'Time between two attempts; less than the renew deadline.',
  },
} as const satisfies OptionTable;

/** Where replicated objects are published; `--cache-kubeconfig` says where they are read. */
export const replication = {
  'nats-servers': {
    type: 'list',
    description: 'NATS servers to publish replicated objects to; default: the embedded cache server.',
  },
  'nats-stream': { type: 'text', default: 'multiplane', description: 'JetStream stream of the replicated objects.' },
  'nats-subject-prefix': {
    type: 'text',
    default: 'multiplane.cache',
    description: 'Subject prefix of the replicated objects.',
  },
  'nats-cafile': { type: 'text', description: 'CA of the NATS servers.' },
  'nats-certfile': { type: 'text', description: 'Client certificate for NATS.' },
  'nats-keyfile': { type: 'text', description: 'Key of the client certificate for NATS.' },
  'nats-token-file': { type: 'text', description: 'File with the token for NATS.' },
} as const satisfies OptionTable;

type Values = OptionValues<typeof sharding & typeof replication & typeof requestHeaderOptionTable> & {
  readonly shardName: string;
  readonly shardBaseUrl?: string | undefined;
  readonly shardExternalUrl?: string | undefined;
};

/** The shard that hosts the logical cluster `root`. */
export const rootShardName = 'root';

/** Validates combinations of sharding flags, with kcp's messages where kcp has the flag. Throws OptionError. */
export function checkShardingOptions(values: Values): void {
  const { shardName } = values;
  if (!isShardName(shardName))
    throw new OptionError(`--shard-name: ${JSON.stringify(shardName)} is no name for a shard`);
  for (const [flag, url] of [
    ['shard-base-url', values.shardBaseUrl],
    ['shard-external-url', values.shardExternalUrl],
    ['shard-virtual-workspace-url', values.shardVirtualWorkspaceUrl],
  ] as const) {
    if (url !== undefined && (!URL.canParse(url) || new URL(url).protocol !== 'https:'))
      throw new OptionError(`--${flag}: ${JSON.stringify(url)} is no https URL`);
  }
  for (const [flag, file] of [
    ['shard-virtual-workspace-ca-file', values.shardVirtualWorkspaceCaFile],
    ['shard-client-cert-file', values.shardClientCertFile],
    ['shard-client-key-file', values.shardClientKeyFile],
    ['mount-proxy-client-cert-file', values.mountProxyClientCertFile],
    ['mount-proxy-client-key-file', values.mountProxyClientKeyFile],
    ['virtual-resource-ca-file', values.virtualResourceCaFile],
    ['virtual-resource-client-cert-file', values.virtualResourceClientCertFile],
    ['virtual-resource-client-key-file', values.virtualResourceClientKeyFile],
    ['shard-kubeconfig-file', values.shardKubeconfigFile],
    ['root-shard-kubeconfig-file', values.rootShardKubeconfigFile],
    ['logical-cluster-admin-kubeconfig', values.logicalClusterAdminKubeconfig],
    ['external-logical-cluster-admin-kubeconfig', values.externalLogicalClusterAdminKubeconfig],
    ['cache-kubeconfig', values.cacheKubeconfig],
    ['nats-cafile', values.natsCafile],
    ['nats-certfile', values.natsCertfile],
    ['nats-keyfile', values.natsKeyfile],
    ['nats-token-file', values.natsTokenFile],
    ['requestheader-client-ca-file', values.requestheaderClientCaFile],
  ] as const) {
    if (file !== undefined && !existsSync(file)) throw new OptionError(`--${flag}: ${file} does not exist`);
  }
  for (const [first, second, together] of [
    ['shard-client-cert-file', 'shard-client-key-file', [values.shardClientCertFile, values.shardClientKeyFile]],
    [
      'mount-proxy-client-cert-file',
      'mount-proxy-client-key-file',
      [values.mountProxyClientCertFile, values.mountProxyClientKeyFile],
    ],
    [
      'virtual-resource-client-cert-file',
      'virtual-resource-client-key-file',
      [values.virtualResourceClientCertFile, values.virtualResourceClientKeyFile],
    ],
    ['nats-certfile', 'nats-keyfile', [values.natsCertfile, values.natsKeyfile]],
  ] as const) {
    if ((together[0] === undefined) !== (together[1] === undefined))
      throw new OptionError(`--${first} and --${second} go together`);
  }
  if (values.virtualResourceClientCertFile !== undefined && values.virtualResourceCaFile === undefined)
    throw new OptionError('--virtual-resource-client-cert-file requires --virtual-resource-ca-file');
  if (shardName !== rootShardName) {
    if (values.cacheKubeconfig === undefined)
      throw new OptionError('--cache-kubeconfig is required for non-root shards');
    if (values.rootShardKubeconfigFile === undefined)
      throw new OptionError('--root-shard-kubeconfig-file is required for non-root shards');
  }
  if (values.logicalClusterAdminKubeconfig !== undefined && values.shardExternalUrl === undefined)
    throw new OptionError('--logical-cluster-admin-kubeconfig requires --shard-external-url');
  const { leaderElectionRetryPeriod, leaderElectionRenewDeadline, leaderElectionLeaseDuration } = values;
  if (
    leaderElectionRetryPeriod >= leaderElectionRenewDeadline ||
    leaderElectionRenewDeadline >= leaderElectionLeaseDuration
  )
    throw new OptionError(
      '--leader-election-retry-period must be less than --leader-election-renew-deadline, and that less than --leader-election-lease-duration',
    );
  if (!values.runVirtualWorkspaces && values.shardVirtualWorkspaceUrl === undefined)
    throw new OptionError('--run-virtual-workspaces=false requires --shard-virtual-workspace-url');
  if (!values.runVirtualWorkspaces && values.shardClientCertFile === undefined)
    throw new OptionError('--run-virtual-workspaces=false requires --shard-client-cert-file');
  if (values.requestheaderClientCaFile !== undefined && values.requestheaderUsernameHeaders.length === 0)
    throw new OptionError('--requestheader-client-ca-file requires --requestheader-username-headers');
}
