import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  auditOptionTable,
  requestHeaderOptionTable,
  requestLimitOptionTable,
  tokenOptionTable,
} from '@multiplane/apiserver';
import {
  FeatureGates,
  loggingOptionTable,
  markCompleted,
  OptionError,
  type Completed,
  type OptionTable,
  type OptionValues,
} from '@multiplane/component-base';
import { admissionOptionTable } from './admission-options.ts';
import { authorizationOptionTable, invalidAuthorizer } from './authorization-options.ts';
import { webhookPolicy, webhooks } from './webhook-options.ts';
import { checkShardingOptions, replication, sharding } from './sharding-options.ts';

const general = {
  'root-directory': {
    type: 'text',
    default: '.multiplane',
    description: 'Folder for data, keys and the admin kubeconfig; made with mode 0700.',
  },
  'shard-name': {
    type: 'text',
    default: 'root',
    description: 'Name of this shard; the one called root hosts the root workspace.',
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
    default: ['admin', 'workspace-types'],
    description: 'What comes ready made: admin (kubeconfig and tokens), workspace-types, user, metrics-viewer.',
  },
  'enable-home-workspaces': {
    type: 'boolean',
    default: true,
    description: 'Give everybody who asks for one a home workspace; on the root shard.',
  },
  'home-workspaces-home-creator-groups': {
    type: 'list',
    default: ['system:authenticated'],
    description: 'Groups whose members may have a home workspace.',
  },
  'root-identities-file': {
    type: 'text',
    description:
      'Keys of the identities of the exports in root (YAML: identities, each with export and identity), where they have none yet.',
  },
  'run-controllers': { type: 'boolean', default: true, description: 'Run the controllers of this shard.' },
  'feature-gates': {
    type: 'map',
    description: 'Switches features on and off, as in A=true,B=false; unknown ones are told and ignored.',
  },
} as const satisfies OptionTable;

const serving = {
  'bind-address': { type: 'text', default: '0.0.0.0', description: 'Address to listen on.' },
  'secure-port': {
    type: 'number',
    default: 6443,
    min: 0,
    max: 65535,
    description: 'Port for HTTPS; 0 takes any free one.',
  },
  'external-hostname': {
    type: 'text',
    description: 'Host name that clients use; it goes into the serving certificate and the kubeconfig.',
  },
  'tls-cert-file': { type: 'text', description: 'Serving certificate (PEM); made in the root directory when absent.' },
  'tls-private-key-file': { type: 'text', description: 'Key of the serving certificate.' },
  'cors-allowed-origins': { type: 'list', description: 'Regular expressions of origins that browsers may call from.' },
  ...requestLimitOptionTable,
  'shutdown-delay-duration': {
    type: 'duration',
    default: '0s',
    description: 'Time between readiness going red and the end of the listener.',
  },
} as const satisfies OptionTable;

const storage = {
  'storage-backend': {
    type: 'text',
    choices: ['file', 'memory', 'etcd'],
    description: 'Where objects are kept; default: etcd when --etcd-servers is given, else file.',
  },
  'etcd-servers': {
    type: 'list',
    description: 'etcd endpoints, comma separated; without them the embedded store is used.',
  },
  'etcd-prefix': { type: 'text', default: '/registry', description: 'Keys of this shard begin with this in etcd.' },
  'etcd-cafile': { type: 'text', description: 'CA of the etcd servers.' },
  'etcd-certfile': { type: 'text', description: 'Client certificate for etcd.' },
  'etcd-keyfile': { type: 'text', description: 'Key of the client certificate for etcd.' },
  'event-ttl': { type: 'duration', default: '1h', description: 'How long events are kept.' },
} as const satisfies OptionTable;

const authentication = {
  'client-ca-file': {
    type: 'text',
    description: 'CA bundle whose client certificates are accepted; default: a CA made in the root directory.',
  },
  'token-auth-file': { type: 'text', description: 'File of static tokens: token,user,uid,"group1,group2".' },
  'anonymous-auth': {
    type: 'boolean',
    default: true,
    description: 'Let requests without credentials in as system:anonymous.',
  },
  'api-audiences': {
    type: 'list',
    description: 'Audiences that tokens must have; default: the service account issuer.',
  },
  'service-account-issuer': {
    type: 'list',
    default: ['https://kcp.default.svc'],
    description: 'Issuers of service account tokens; the first one signs.',
  },
  'service-account-key-file': { type: 'list', description: 'Further keys that verify service account tokens (PEM).' },
  'service-account-private-key-file': {
    type: 'text',
    description: 'Key that signs service account tokens; made as sa.key in the root directory when absent.',
    aliases: ['service-account-signing-key-file'],
  },
  'service-account-max-token-expiration': {
    type: 'duration',
    default: '0s',
    description: 'Longest life of a token; 0: as long as asked for.',
  },
  'authentication-admin-token-path': {
    type: 'text',
    description:
      "Where the hash of the shard admin's token is kept; default: .admin-token-store in the root directory.",
  },
  'root-ca-file': {
    type: 'text',
    description: 'CA bundle published in every namespace; default: the one of the serving certificate.',
  },
} as const satisfies OptionTable;

/** All flags of a shard by section: the parser, the environment and `--help` come from here (names: C12.8). */
export const shardOptionSections = {
  General: general,
  Serving: serving,
  Storage: storage,
  Sharding: sharding,
  Replication: replication,
  Authentication: { ...authentication, ...requestHeaderOptionTable, ...tokenOptionTable },
  Authorization: authorizationOptionTable,
  Admission: admissionOptionTable,
  Webhooks: webhooks,
  Auditing: auditOptionTable,
  Logging: loggingOptionTable,
} as const;
export const shardOptionTable = {
  ...general,
  ...serving,
  ...storage,
  ...sharding,
  ...replication,
  ...authentication,
  ...requestHeaderOptionTable,
  ...tokenOptionTable,
  ...authorizationOptionTable,
  ...admissionOptionTable,
  ...webhooks,
  ...auditOptionTable,
  ...loggingOptionTable,
} as const;

export type ShardOptionValues = OptionValues<typeof shardOptionTable>;

const knownGates = {
  WorkspaceMounts: { default: false, stage: 'alpha' },
  CacheAPIs: { default: false, stage: 'alpha' },
  WorkspaceAuthentication: { default: false, stage: 'alpha' },
  LogicalClusterMigration: { default: false, stage: 'alpha' },
  EnableDeprecatedAPIExportVirtualWorkspacesUrls: { default: false, stage: 'deprecated' },
} as const;
const knownBatteries = new Set(['admin', 'workspace-types', 'user', 'metrics-viewer']);

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

/** Fills in what follows from other flags and refuses what does not fit together. Throws OptionError. */
export function completeShardOptions(values: ShardOptionValues): Completed<ShardOptions> {
  const rootDirectory = resolve(values.rootDirectory);
  if ((values.tlsCertFile === undefined) !== (values.tlsPrivateKeyFile === undefined))
    throw new OptionError('--tls-cert-file and --tls-private-key-file go together');
  for (const [flag, file] of [
    ['tls-cert-file', values.tlsCertFile],
    ['tls-private-key-file', values.tlsPrivateKeyFile],
    ['client-ca-file', values.clientCaFile],
    ['token-auth-file', values.tokenAuthFile],
  ] as const) {
    if (file !== undefined && !existsSync(file)) throw new OptionError(`--${flag}: ${file} does not exist`);
  }
  if (values.storageBackend === 'etcd' && values.etcdServers.length === 0)
    throw new OptionError('--storage-backend=etcd needs --etcd-servers');
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

/** A plain list replaces the default; a list of `+x` and `-x` changes it (C12.8). */
function batteriesOf(given: readonly string[]): ReadonlySet<string> {
  const relative = given.filter((name) => /^[+-]/.test(name));
  if (relative.length > 0 && relative.length < given.length)
    throw new OptionError('--batteries-included must all be prefixed with + or - or none');
  const batteries = new Set(relative.length > 0 ? ['admin', 'workspace-types'] : given);
  for (const name of relative) {
    if (name.startsWith('+')) batteries.add(name.slice(1));
    else batteries.delete(name.slice(1));
  }
  for (const name of batteries) if (!knownBatteries.has(name)) throw new OptionError(`unknown battery: ${name}`);
  if (batteries.has('user') && !batteries.has('admin'))
    throw new OptionError('battery user enabled which requires admin as well');
  return batteries;
}

/** Reads a file that a flag names; the error says which flag. */
export function readOptionFile(flag: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new OptionError(`--${flag}: ${file} cannot be read`, { cause });
  }
}
