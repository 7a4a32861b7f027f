import { existsSync } from 'node:fs';
import { auditOptionTable, requestHeaderOptionTable, requestLimitOptionTable } from '@multiplane/apiserver';
import {
  loggingOptionTable,
  markCompleted,
  OptionError,
  type Completed,
  type OptionTable,
  type OptionValues,
} from '@multiplane/component-base';

const general = {
  kubeconfig: {
    type: 'text',
    description: 'How to reach the shard whose workspaces are served, with every right there.',
  },
  context: { type: 'text', description: 'Context of that file; default: its current one.' },
  'external-logical-cluster-admin-kubeconfig': {
    type: 'text',
    description: 'How to reach logical clusters of all shards, by way of a front-proxy; default: the shard alone.',
  },
  'cache-kubeconfig': {
    type: 'text',
    description: 'How to reach a cache server; default: the one inside the shard.',
  },
} as const satisfies OptionTable;

const serving = {
  'bind-address': { type: 'text', default: '0.0.0.0', description: 'Address to listen on.' },
  'secure-port': {
    type: 'number',
    default: 6444,
    min: 0,
    max: 65535,
    description: 'Port for HTTPS; 0 takes any free one.',
  },
  'tls-cert-file': { type: 'text', description: 'Serving certificate (PEM).' },
  'tls-private-key-file': { type: 'text', description: 'Key of the serving certificate.' },
  'cors-allowed-origins': { type: 'list', description: 'Regular expressions of origins that browsers may call from.' },
  ...requestLimitOptionTable,
  'shutdown-delay-duration': {
    type: 'duration',
    default: '0s',
    description: 'Time between readiness going red and the end of the listener.',
  },
} as const satisfies OptionTable;

const authentication = {
  'client-ca-file': { type: 'text', description: 'CA bundle whose client certificates are accepted.' },
  ...requestHeaderOptionTable,
  'authentication-skip-lookup': {
    type: 'boolean',
    default: false,
    description: 'Ask the shard for nobody: bearer tokens are not accepted.',
  },
} as const satisfies OptionTable;

const authorization = {
  'authorization-always-allow-paths': {
    type: 'list',
    default: ['/healthz', '/readyz', '/livez'],
    description: 'Paths that everybody may get.',
  },
} as const satisfies OptionTable;

/** All flags of a virtual-workspace server by section (names: C8.8). */
export const virtualWorkspacesOptionSections = {
  General: general,
  Serving: serving,
  Authentication: authentication,
  Authorization: authorization,
  Audit: auditOptionTable,
  Logging: loggingOptionTable,
} as const;
export const virtualWorkspacesOptionTable = {
  ...general,
  ...serving,
  ...authentication,
  ...authorization,
  ...auditOptionTable,
  ...loggingOptionTable,
} as const;

export type VirtualWorkspacesOptionValues = OptionValues<typeof virtualWorkspacesOptionTable>;

export interface VirtualWorkspacesOptions extends Omit<
  VirtualWorkspacesOptionValues,
  'kubeconfig' | 'tlsCertFile' | 'tlsPrivateKeyFile'
> {
  readonly kubeconfig: string;
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
}

/** Refuses what is missing or does not fit together. Throws OptionError. */
export function completeVirtualWorkspacesOptions(
  values: VirtualWorkspacesOptionValues,
): Completed<VirtualWorkspacesOptions> {
  const { kubeconfig, tlsCertFile, tlsPrivateKeyFile } = values;
  if (kubeconfig === undefined) throw new OptionError('--kubeconfig is required');
  if (tlsCertFile === undefined || tlsPrivateKeyFile === undefined)
    throw new OptionError('--tls-cert-file and --tls-private-key-file are required');
  if (values.requestheaderClientCaFile !== undefined && values.requestheaderUsernameHeaders.length === 0)
    throw new OptionError('--requestheader-client-ca-file requires --requestheader-username-headers');
  for (const [flag, file] of [
    ['kubeconfig', kubeconfig],
    ['external-logical-cluster-admin-kubeconfig', values.externalLogicalClusterAdminKubeconfig],
    ['cache-kubeconfig', values.cacheKubeconfig],
    ['tls-cert-file', tlsCertFile],
    ['tls-private-key-file', tlsPrivateKeyFile],
    ['client-ca-file', values.clientCaFile],
    ['requestheader-client-ca-file', values.requestheaderClientCaFile],
  ] as const) {
    if (file !== undefined && !existsSync(file)) throw new OptionError(`--${flag}: ${file} does not exist`);
  }
  return markCompleted({ ...values, kubeconfig, tlsCertFile, tlsPrivateKeyFile });
}
