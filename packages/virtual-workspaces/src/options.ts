import {
  cacheApisGate,
  FeatureGates,
  tracingOptionTable,
  loggingOptionTable,
  markCompleted,
  OptionError,
  type Completed,
  type OptionTable,
  type OptionValues,
} from '@multiplane/component-base';
import {
  alwaysAllowPathsOptionTable,
  auditOptionTable,
  checkFilesExist,
  clientCaOptions,
  corsOptionTable,
  listenerOptions,
  requestHeaderOptionTable,
  requestLimitOptionTable,
  servingCertificateOptions,
  shutdownOptionTable,
} from '@multiplane/generic-server';

const general = {
  kubeconfig: {
    type: 'text',
    description: 'Kubeconfig of the shard whose workspaces are served, with the rights of system:masters.',
  },
  context: { type: 'text', description: 'Context in --kubeconfig; default: its current context.' },
  'external-logical-cluster-admin-kubeconfig': {
    type: 'text',
    description: 'Kubeconfig for logical clusters of all shards, through a front-proxy; default: the shard only.',
  },
  'cache-kubeconfig': {
    type: 'text',
    description: 'Kubeconfig of a cache server; default: the one embedded in the shard.',
  },
  'feature-gates': {
    type: 'map',
    description: 'Enables and disables features, as in A=true,B=false; unknown features are ignored with a warning.',
  },
} as const satisfies OptionTable;

const serving = {
  ...listenerOptions(6444),
  ...servingCertificateOptions({ isGenerated: false }),
  ...corsOptionTable,
  ...requestLimitOptionTable,
  ...shutdownOptionTable,
} as const satisfies OptionTable;

const authentication = {
  ...clientCaOptions(),
  ...requestHeaderOptionTable,
  'authentication-skip-lookup': {
    type: 'boolean',
    default: false,
    description: 'Do not send token reviews to the shard: bearer tokens are not accepted.',
  },
} as const satisfies OptionTable;

const authorization = {
  ...alwaysAllowPathsOptionTable,
} as const satisfies OptionTable;

/** All flags of a virtual workspaces server by section, with kcp's names. */
export const virtualWorkspacesOptionSections = {
  General: general,
  Serving: serving,
  Authentication: authentication,
  Authorization: authorization,
  Audit: auditOptionTable,
  'Logging and tracing': { ...loggingOptionTable, ...tracingOptionTable },
} as const;
export const virtualWorkspacesOptionTable = {
  ...general,
  ...serving,
  ...authentication,
  ...authorization,
  ...auditOptionTable,
  ...loggingOptionTable,
  ...tracingOptionTable,
} as const;

const knownGates = { CacheAPIs: cacheApisGate } as const;

export type VirtualWorkspacesOptionValues = OptionValues<typeof virtualWorkspacesOptionTable>;

export interface VirtualWorkspacesOptions extends Omit<
  VirtualWorkspacesOptionValues,
  'kubeconfig' | 'tlsCertFile' | 'tlsPrivateKeyFile'
> {
  readonly kubeconfig: string;
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  readonly features: FeatureGates<keyof typeof knownGates>;
}

/** Rejects missing flags and invalid combinations. Throws OptionError. */
export function completeVirtualWorkspacesOptions(
  values: VirtualWorkspacesOptionValues,
): Completed<VirtualWorkspacesOptions> {
  const { kubeconfig, tlsCertFile, tlsPrivateKeyFile } = values;
  if (kubeconfig === undefined) throw new OptionError('--kubeconfig is required');
  if (tlsCertFile === undefined || tlsPrivateKeyFile === undefined)
    throw new OptionError('--tls-cert-file and --tls-private-key-file are required');
  if (values.requestheaderClientCaFile !== undefined && values.requestheaderUsernameHeaders.length === 0)
    throw new OptionError('--requestheader-client-ca-file requires --requestheader-username-headers');
  checkFilesExist([
    ['kubeconfig', kubeconfig],
    ['external-logical-cluster-admin-kubeconfig', values.externalLogicalClusterAdminKubeconfig],
    ['cache-kubeconfig', values.cacheKubeconfig],
    ['tls-cert-file', tlsCertFile],
    ['tls-private-key-file', tlsPrivateKeyFile],
    ['client-ca-file', values.clientCaFile],
    ['requestheader-client-ca-file', values.requestheaderClientCaFile],
  ]);
  return markCompleted({
    ...values,
    kubeconfig,
    tlsCertFile,
    tlsPrivateKeyFile,
    features: new FeatureGates(knownGates, values.featureGates),
  });
}
