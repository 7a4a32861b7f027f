import { join, resolve } from 'node:path';
import { nativeKindsBattery } from '@multiplane/apis';
import {
  tracingOptionTable,
  cacheApisGate,
  FeatureGates,
  loggingOptionTable,
  markCompleted,
  OptionError,
  type Completed,
  type OptionTable,
  type OptionValues,
} from '@multiplane/component-base';
import {
  audienceOptionTable,
  auditOptionTable,
  checkFilesExist,
  checkServingCertificate,
  clientCaOptions,
  corsOptionTable,
  externalTokenOptionTable,
  listenerOptions,
  requestHeaderOptionTable,
  requestLimitOptionTable,
  serviceAccountIssuerOptions,
  servingCertificateOptions,
  shutdownOptionTable,
  tenantNetworkOptions,
  tokenFileOptionTable,
  webhookPolicy,
} from '@multiplane/generic-server';
import { admissionOptionTable } from './admission-options.ts';
import { authorizationOptionTable, invalidAuthorizer } from './authorization-options.ts';
import { limitOptionTable } from './limits/limit-options.ts';
import { checkShardingOptions, replication, sharding } from './sharding-options.ts';

const defaultBatteries = ['admin', 'workspace-types', nativeKindsBattery];

const general = {
  'root-directory': {
    type: 'text',
    default: '.multiplane',
    description: 'Directory for data, keys and the admin kubeconfig; created with mode 0700.',
  },
  'shard-name': {
    type: 'text',
    default: 'root',
    description: 'Name of this shard; the shard named root hosts the root workspace.',
  },
  'shard-base-url': { type: 'text', description: 'URL at which other components reach this shard.' },
  'shard-external-url': {
    type: 'text',
    description: 'URL at which clients reach the workspaces of this shard; default: the base URL.',
  },
  'kubeconfig-path': {
    type: 'text',
    description: 'Where the admin kubeconfig is written; default: admin.kubeconfig in the root directory.',
  },
  'batteries-included': {
    type: 'list',
    default: defaultBatteries,
    description:
      "Objects to create at startup: admin (kubeconfig and tokens), workspace-types, native-kinds (exports of Kubernetes' own kinds), user, metrics-viewer.",
  },
  'enable-home-workspaces': {
    type: 'boolean',
    default: true,
    description: 'Create home workspaces on request; on the root shard.',
  },
  'home-workspaces-home-creator-groups': {
    type: 'list',
    default: ['system:authenticated'],
    description: 'Groups whose members may create a home workspace.',
  },
  'root-identities-file': {
    type: 'text',
    description:
      'Keys of the identities of the exports in root (YAML: identities, each with export and identity), where they have none yet.',
  },
  'run-controllers': { type: 'boolean', default: true, description: 'Run the controllers of this shard.' },
  'feature-gates': {
    type: 'map',
    description: 'Enables and disables features, as in A=true,B=false; unknown features are ignored with a warning.',
  },
} as const satisfies OptionTable;

const serving = {
  ...listenerOptions(6443),
  'external-hostname': {
    type: 'text',
    description: 'Host name that clients use; it goes into the serving certificate and the kubeconfig.',
  },
  ...servingCertificateOptions({ isGenerated: true }),
  ...corsOptionTable,
  ...requestLimitOptionTable,
  ...shutdownOptionTable,
} as const satisfies OptionTable;

const storage = {
  'storage-backend': {
    type: 'text',
    choices: ['file', 'memory', 'etcd'],
    description: 'Storage backend; default: etcd if --etcd-servers is set, else file.',
  },
  'etcd-servers': {
    type: 'list',
    description: 'etcd endpoints, comma separated; default: the embedded store.',
  },
  'etcd-prefix': { type: 'text', default: '/registry', description: 'Prefix of the keys of this shard in etcd.' },
  'etcd-cafile': { type: 'text', description: 'CA of the etcd servers.' },
  'etcd-certfile': { type: 'text', description: 'Client certificate for etcd.' },
  'etcd-keyfile': { type: 'text', description: 'Key of the client certificate for etcd.' },
  'encryption-provider-config': {
    type: 'text',
    description:
      'File with an EncryptionConfiguration (apiserver.config.k8s.io/v1): which resources are encrypted in the store.',
  },
  'encryption-provider-config-automatic-reload': {
    type: 'boolean',
    default: false,
    description:
      'Read the file of --encryption-provider-config again when it changes, for key rotation without a restart.',
  },
  'accept-data-loss': {
    type: 'boolean',
    default: false,
    description:
      'Start the embedded store although acknowledged data is missing or unreadable; what is given up is logged. For one start.',
  },
  'event-ttl': { type: 'duration', default: '1h', min: '1s', max: '8760h', description: 'Retention of events.' },
} as const satisfies OptionTable;

const authentication = {
  ...clientCaOptions('default: a CA generated in the root directory'),
  ...tokenFileOptionTable,
  'anonymous-auth': {
    type: 'boolean',
    default: true,
    description: 'Accept requests without credentials as system:anonymous.',
  },
  ...audienceOptionTable,
  ...serviceAccountIssuerOptions('the first one signs'),
  'service-account-key-file': { type: 'list', description: 'Further keys that verify service account tokens (PEM).' },
  'service-account-private-key-file': {
    type: 'text',
    description: 'Key that signs service account tokens; default: sa.key, generated in the root directory.',
    aliases: ['service-account-signing-key-file'],
  },
  'service-account-max-token-expiration': {
    type: 'duration',
    default: '0s',
    min: '1h',
    max: '87600h',
    allowsZero: true,
    description: 'Maximum lifetime of requested tokens, at least an hour; 0: unlimited.',
  },
  'authentication-admin-token-path': {
    type: 'text',
    description:
      "Where the hash of the shard admin's token is kept; default: .admin-token-store in the root directory.",
  },
  'cluster-signing-cert-file': {
    type: 'text',
    description:
      'CA (EC P-256) that signs approved CertificateSigningRequests for clients of their workspace; must sign nothing else. Default: workspace-ca.crt, generated in the root directory.',
  },
  'cluster-signing-key-file': { type: 'text', description: 'Its private key (PKCS#8); default: workspace-ca.key.' },
  'cluster-signing-duration': {
    type: 'duration',
    default: '8760h',
    min: '10m',
    max: '87600h',
    description: 'Maximum lifetime of certificates that --cluster-signing-cert-file signs.',
  },
  'workspace-client-ca-file': {
    type: 'text',
    description:
      'CAs of client certificates that workspaces issued, each valid in its workspace; default: --cluster-signing-cert-file.',
  },
  'root-ca-file': {
    type: 'text',
    description: 'CA bundle published in every namespace; default: the CA of the serving certificate.',
  },
} as const satisfies OptionTable;

/** All flags of a shard by section: the parser, the environment and `--help` come from here (names as in kcp). */
export const shardOptionSections = {
  General: general,
  Serving: serving,
  Storage: storage,
  Sharding: sharding,
  Replication: replication,
  Authentication: { ...authentication, ...requestHeaderOptionTable, ...externalTokenOptionTable },
  Authorization: authorizationOptionTable,
  Admission: admissionOptionTable,
  Limits: limitOptionTable,
  Webhooks: tenantNetworkOptions,
  Auditing: auditOptionTable,
  'Logging and tracing': { ...loggingOptionTable, ...tracingOptionTable },
} as const;
export const shardOptionTable = {
  ...general,
  ...serving,
  ...storage,
  ...sharding,
  ...replication,
  ...authentication,
  ...requestHeaderOptionTable,
  ...externalTokenOptionTable,
  ...authorizationOptionTable,
  ...admissionOptionTable,
  ...limitOptionTable,
  ...tenantNetworkOptions,
  ...auditOptionTable,
  ...loggingOptionTable,
  ...tracingOptionTable,
} as const;

export type ShardOptionValues = OptionValues<typeof shardOptionTable>;

const knownGates = {
  WorkspaceMounts: { default: false, stage: 'alpha' },
  CacheAPIs: cacheApisGate,
  WorkspaceAuthentication: { default: false, stage: 'alpha' },
  LogicalClusterMigration: { default: false, stage: 'alpha' },
  EnableDeprecatedAPIExportVirtualWorkspacesUrls: { default: false, stage: 'deprecated' },
} as const;
const knownBatteries = new Set(['admin', 'workspace-types', nativeKindsBattery, 'user', 'metrics-viewer']);

export interface ShardOptions extends Omit<
  ShardOptionValues,
  'rootDirectory' | 'kubeconfigPath' | 'authenticationAdminTokenPath' | 'storageBackend' | 'batteriesIncluded'
> {
  /** Absolute. */
  readonly rootDirectory: string;
  readonly kubeconfigPath: string;
  readonly authenticationAdminTokenPath: string;
  readonly storageBackend: 'file' | 'memory' | 'etcd';
  readonly batteries: ReadonlySet<string>;
  readonly features: FeatureGates<keyof typeof knownGates>;
}

/** Computes defaults that depend on other flags and validates combinations. Throws OptionError. */
export function completeShardOptions(values: ShardOptionValues): Completed<ShardOptions> {
  const rootDirectory = resolve(values.rootDirectory);
  checkServingCertificate(values);
  checkFilesExist([
    ['tls-cert-file', values.tlsCertFile],
    ['tls-private-key-file', values.tlsPrivateKeyFile],
    ['client-ca-file', values.clientCaFile],
    ['cluster-signing-cert-file', values.clusterSigningCertFile],
    ['cluster-signing-key-file', values.clusterSigningKeyFile],
    ['workspace-client-ca-file', values.workspaceClientCaFile],
    ['token-auth-file', values.tokenAuthFile],
    ['encryption-provider-config', values.encryptionProviderConfig],
  ]);
  if (values.storageBackend === 'etcd' && values.etcdServers.length === 0)
    throw new OptionError('--storage-backend=etcd needs --etcd-servers');
  if (values.encryptionProviderConfigAutomaticReload && values.encryptionProviderConfig === undefined)
    throw new OptionError(
      '--encryption-provider-config-automatic-reload must be set with --encryption-provider-config',
    );
  checkShardingOptions(values);
  webhookPolicy(values);
  const invalid = invalidAuthorizer(values.authorizationOrder);
  if (invalid !== undefined) throw new OptionError(`invalid authorizer: ${JSON.stringify(invalid)}`);
  if (values.serviceAccountIssuer.length === 0)
    throw new OptionError('--service-account-issuer needs at least one issuer');
  return markCompleted({
    ...values,
    rootDirectory,
    kubeconfigPath: values.kubeconfigPath ?? join(rootDirectory, 'admin.kubeconfig'),
    authenticationAdminTokenPath: values.authenticationAdminTokenPath ?? join(rootDirectory, '.admin-token-store'),
    storageBackend: values.storageBackend ?? (values.etcdServers.length > 0 ? 'etcd' : 'file'),
    apiAudiences: values.apiAudiences.length > 0 ? values.apiAudiences : values.serviceAccountIssuer,
    batteries: batteriesOf(values.batteriesIncluded),
    features: new FeatureGates(knownGates, values.featureGates),
  });
}

/** A plain list replaces the default; a list of `+x` and `-x` changes it (kcp `pkg/server/options/batteries`). */
function batteriesOf(given: readonly string[]): ReadonlySet<string> {
  const relative = given.filter((name) => /^[+-]/.test(name));
  if (relative.length > 0 && relative.length < given.length)
    throw new OptionError('--batteries-included must all be prefixed with + or - or none');
  const batteries = new Set(relative.length > 0 ? defaultBatteries : given);
  for (const name of relative) {
    if (name.startsWith('+')) batteries.add(name.slice(1));
    else batteries.delete(name.slice(1));
  }
  for (const name of batteries) if (!knownBatteries.has(name)) throw new OptionError(`unknown battery: ${name}`);
  if (batteries.has('user') && !batteries.has('admin'))
    throw new OptionError('battery user enabled which requires admin as well');
  return batteries;
}
