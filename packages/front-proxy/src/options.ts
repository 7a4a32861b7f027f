import { join, resolve } from 'node:path';
import {
  tracingOptionTable,
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
  checkFilesExist,
  checkServingCertificate,
  clientCaOptions,
  corsOptionTable,
  externalTokenOptionTable,
  listenerOptions,
  requestHeaderOptionTable,
  serviceAccountIssuerOptions,
  servingCertificateOptions,
  shutdownOptionTable,
  tenantNetworkOptions,
  tokenFileOptionTable,
  webhookPolicy,
} from '@multiplane/generic-server';
import { defaultDropGroups } from './authentication/group-filter.ts';

const general = {
  'mapping-file': { type: 'text', description: 'Path mappings: backends by path (YAML).' },
  'shards-kubeconfig': {
    type: 'text',
    description: 'Kubeconfig for all shards; its server is replaced by the base URL of each shard.',
  },
  'root-kubeconfig': {
    type: 'text',
    description: 'Kubeconfig for the root shard; default: --shards-kubeconfig.',
  },
  'root-directory': {
    type: 'text',
    default: '.multiplane',
    description: 'Directory of the generated serving certificate, created with mode 0700.',
  },
  'feature-gates': {
    type: 'map',
    description: 'Enables and disables features, as in A=true,B=false; unknown features are ignored with a warning.',
  },
} as const satisfies OptionTable;

const serving = {
  ...listenerOptions(443),
  ...servingCertificateOptions({ isGenerated: true }),
  ...corsOptionTable,
  ...shutdownOptionTable,
} as const satisfies OptionTable;

const authentication = {
  ...clientCaOptions(),
  ...tokenFileOptionTable,
  'workspace-client-ca-file': {
    type: 'text',
    description: 'CAs of client certificates that workspaces issued (--cluster-signing-cert-file of the shards).',
  },
  'service-account-key-file': {
    type: 'list',
    description: 'Keys that verify service account tokens (PEM); default: shards verify the tokens.',
  },
  ...serviceAccountIssuerOptions(),
  ...audienceOptionTable,
  ...requestHeaderOptionTable,
  'authentication-pass-on-groups': {
    type: 'list',
    description: 'Groups that are passed on to upstream servers, also as `prefix*`; empty: all.',
  },
  'authentication-drop-groups': {
    type: 'list',
    default: defaultDropGroups,
    description: 'Groups that are not passed on; takes precedence over --authentication-pass-on-groups.',
  },
} as const satisfies OptionTable;

const upstreams = {
  'upstream-connect-timeout': {
    type: 'duration',
    default: '700ms',
    min: '10ms',
    max: '1h',
    description: 'Timeout for connecting to an upstream server.',
  },
  'upstream-silence-timeout': {
    type: 'duration',
    default: '350ms',
    min: '10ms',
    max: '1h',
    description:
      'Time without data from an upstream server, while requests wait for it, after which the proxy probes it.',
  },
  'upstream-probe-timeout': {
    type: 'duration',
    default: '500ms',
    min: '10ms',
    max: '1h',
    description: 'Timeout of that probe; after it, requests to the server fail with 503.',
  },
  'upstream-give-up-timeout': {
    type: 'duration',
    default: '10s',
    min: '10ms',
    max: '1h',
    description: 'Silence of an upstream server after which its watches end.',
  },
  'upstream-write-give-up-timeout': {
    type: 'duration',
    default: '2s',
    min: '10ms',
    max: '1h',
    description: 'Silence of an upstream server after which writes that it may have received fail with 504.',
  },
} as const satisfies OptionTable;

/** All flags of the front-proxy by section; parser, environment variables and `--help` use them. Names as in kcp. */
export const frontProxyOptionSections = {
  General: general,
  Serving: serving,
  Authentication: { ...authentication, ...externalTokenOptionTable },
  'Upstream servers': upstreams,
  Mounts: tenantNetworkOptions,
  'Logging and tracing': { ...loggingOptionTable, ...tracingOptionTable },
} as const;
export const frontProxyOptionTable = {
  ...general,
  ...serving,
  ...authentication,
  ...externalTokenOptionTable,
  ...upstreams,
  ...tenantNetworkOptions,
  ...loggingOptionTable,
  ...tracingOptionTable,
} as const;

export type FrontProxyOptionValues = OptionValues<typeof frontProxyOptionTable>;

const knownGates = {
  WorkspaceMounts: { default: false, stage: 'alpha' },
  WorkspaceAuthentication: { default: false, stage: 'alpha' },
} as const;

export interface FrontProxyOptions extends Omit<
  FrontProxyOptionValues,
  'rootDirectory' | 'mappingFile' | 'shardsKubeconfig' | 'rootKubeconfig'
> {
  /** Absolute. */
  readonly rootDirectory: string;
  readonly mappingFile: string;
  readonly shardsKubeconfig: string;
  readonly rootKubeconfig: string;
  readonly certificateFile: string;
  readonly privateKeyFile: string;
  /** No certificate was configured: one is generated in the root directory if necessary. */
  readonly generatesCertificate: boolean;
  readonly features: FeatureGates<keyof typeof knownGates>;
}

/** Fills in derived values and rejects invalid combinations. Throws OptionError. */
export function completeFrontProxyOptions(values: FrontProxyOptionValues): Completed<FrontProxyOptions> {
  const { mappingFile, shardsKubeconfig, tlsCertFile, tlsPrivateKeyFile } = values;
  if (mappingFile === undefined) throw new OptionError('--mapping-file is required');
  if (shardsKubeconfig === undefined) throw new OptionError('--shards-kubeconfig is required');
  checkServingCertificate(values);
  if (values.serviceAccountIssuer.length === 0)
    throw new OptionError('--service-account-issuer needs at least one issuer');
  webhookPolicy(values);
  const rootKubeconfig = values.rootKubeconfig ?? shardsKubeconfig;
  checkFilesExist([
    ['mapping-file', mappingFile],
    ['shards-kubeconfig', shardsKubeconfig],
    ['root-kubeconfig', rootKubeconfig],
    ['tls-cert-file', tlsCertFile],
    ['tls-private-key-file', tlsPrivateKeyFile],
    ['client-ca-file', values.clientCaFile],
    ['workspace-client-ca-file', values.workspaceClientCaFile],
    ['token-auth-file', values.tokenAuthFile],
    ['requestheader-client-ca-file', values.requestheaderClientCaFile],
    ...values.serviceAccountKeyFile.map((file) => ['service-account-key-file', file] as const),
  ]);
  const rootDirectory = resolve(values.rootDirectory);
  return markCompleted({
    ...values,
    rootDirectory,
    mappingFile,
    shardsKubeconfig,
    rootKubeconfig,
    certificateFile: tlsCertFile ?? join(rootDirectory, 'apiserver.crt'),
    privateKeyFile: tlsPrivateKeyFile ?? join(rootDirectory, 'apiserver.key'),
    generatesCertificate: tlsCertFile === undefined,
    apiAudiences: values.apiAudiences.length > 0 ? values.apiAudiences : values.serviceAccountIssuer,
    features: new FeatureGates(knownGates, values.featureGates),
  });
}
