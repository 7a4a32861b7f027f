import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { tokenOptionTable } from '@multiplane/apiserver';
import {
  FeatureGates,
  loggingOptionTable,
  markCompleted,
  OptionError,
  type Completed,
  type OptionTable,
  type OptionValues,
} from '@multiplane/component-base';
import { defaultDropGroups } from './authentication/group-filter.ts';

const general = {
  'mapping-file': { type: 'text', description: 'File that says which paths go to which servers (YAML).' },
  'shards-kubeconfig': {
    type: 'text',
    description: 'Kubeconfig for all shards; the server in it is replaced by the base URL of each.',
  },
  'root-kubeconfig': {
    type: 'text',
    description: 'Kubeconfig for the shard with the root workspace; default: --shards-kubeconfig.',
  },
  'root-directory': {
    type: 'text',
    default: '.multiplane',
    description: 'Folder of the serving certificate, if no other is given; made with mode 0700.',
  },
  'feature-gates': {
    type: 'map',
    description: 'Switches features on and off, as in A=true,B=false; unknown ones are told and ignored.',
  },
} as const satisfies OptionTable;

const serving = {
  'bind-address': { type: 'text', default: '0.0.0.0', description: 'Address to listen on.' },
  'secure-port': {
    type: 'number',
    default: 443,
    min: 0,
    max: 65535,
    description: 'Port for HTTPS; 0 takes any free one.',
  },
  'tls-cert-file': { type: 'text', description: 'Serving certificate (PEM); made in the root directory when absent.' },
  'tls-private-key-file': { type: 'text', description: 'Key of the serving certificate.' },
  'cors-allowed-origins': { type: 'list', description: 'Regular expressions of origins that browsers may call from.' },
  'shutdown-delay-duration': {
    type: 'duration',
    default: '0s',
    description: 'Time between readiness going red and the end of the listener.',
  },
} as const satisfies OptionTable;

const authentication = {
  'client-ca-file': { type: 'text', description: 'CA bundle whose client certificates are accepted.' },
  'token-auth-file': { type: 'text', description: 'File of static tokens: token,user,uid,"group1,group2".' },
  'service-account-key-file': {
    type: 'list',
    description: 'Keys that verify service account tokens (PEM); without them shards do it.',
  },
  'service-account-issuer': {
    type: 'list',
    default: ['https://kcp.default.svc'],
    description: 'Issuers of service account tokens.',
  },
  'api-audiences': {
    type: 'list',
    description: 'Audiences that tokens must have; default: the service account issuers.',
  },
  'requestheader-client-ca-file': {
    type: 'text',
    description: 'CA bundle of proxies in front of this one, whose identity headers are believed.',
  },
  'requestheader-allowed-names': {
    type: 'list',
    description: 'Common names of such proxies; empty: every certificate of the bundle.',
  },
  'requestheader-username-headers': { type: 'list', default: ['X-Remote-User'], description: 'Headers with the user.' },
  'requestheader-group-headers': { type: 'list', default: ['X-Remote-Group'], description: 'Headers with groups.' },
  'requestheader-uid-headers': { type: 'list', default: ['X-Remote-Uid'], description: 'Headers with the uid.' },
  'requestheader-extra-headers-prefix': {
    type: 'list',
    default: ['X-Remote-Extra-'],
    description: 'Beginnings of headers with extra fields of the user.',
  },
  'authentication-pass-on-groups': {
    type: 'list',
    description: 'Groups that servers behind may learn, `prefix*` included; empty: all.',
  },
  'authentication-drop-groups': {
    type: 'list',
    default: defaultDropGroups,
    description: 'Groups that they never learn; wins over --authentication-pass-on-groups.',
  },
} as const satisfies OptionTable;

const upstreams = {
  'upstream-connect-timeout': {
    type: 'duration',
    default: '700ms',
    description: 'Longest time that connecting to a server behind may take.',
  },
  'upstream-silence-timeout': {
    type: 'duration',
    default: '350ms',
    description: 'Requests that wait this long without a byte from their server make the proxy ask whether it lives.',
  },
  'upstream-probe-timeout': {
    type: 'duration',
    default: '500ms',
    description: 'How long the server has to answer that; then its requests fail with 503.',
  },
  'upstream-give-up-timeout': {
    type: 'duration',
    default: '10s',
    description: 'Watches end when their server has been silent for so long.',
  },
  'upstream-write-give-up-timeout': {
    type: 'duration',
    default: '2s',
    description: 'Writes that a silent server may have got fail with 504 when it has been silent for so long.',
  },
} as const satisfies OptionTable;

/** All flags of the front-proxy by section: the parser, the environment and `--help` come from here (names: C12.9). */
export const frontProxyOptionSections = {
  General: general,
  Serving: serving,
  Authentication: { ...authentication, ...tokenOptionTable },
  'Servers behind': upstreams,
  Logging: loggingOptionTable,
} as const;
export const frontProxyOptionTable = {
  ...general,
  ...serving,
  ...authentication,
  ...tokenOptionTable,
  ...upstreams,
  ...loggingOptionTable,
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
  /** No certificate was given: one is made below the root directory when there is none. */
  readonly makesCertificate: boolean;
  readonly features: FeatureGates<keyof typeof knownGates>;
}

/** Fills in what follows from other flags and refuses what does not fit together. Throws OptionError. */
export function completeFrontProxyOptions(values: FrontProxyOptionValues): Completed<FrontProxyOptions> {
  const { mappingFile, shardsKubeconfig, tlsCertFile, tlsPrivateKeyFile } = values;
  if (mappingFile === undefined) throw new OptionError('--mapping-file is required');
  if (shardsKubeconfig === undefined) throw new OptionError('--shards-kubeconfig is required');
  if ((tlsCertFile === undefined) !== (tlsPrivateKeyFile === undefined))
    throw new OptionError('--tls-cert-file and --tls-private-key-file go together');
  if (values.serviceAccountIssuer.length === 0)
    throw new OptionError('--service-account-issuer needs at least one issuer');
  const rootKubeconfig = values.rootKubeconfig ?? shardsKubeconfig;
  for (const [flag, file] of [
    ['mapping-file', mappingFile],
    ['shards-kubeconfig', shardsKubeconfig],
    ['root-kubeconfig', rootKubeconfig],
    ['tls-cert-file', tlsCertFile],
    ['tls-private-key-file', tlsPrivateKeyFile],
    ['client-ca-file', values.clientCaFile],
    ['token-auth-file', values.tokenAuthFile],
    ['requestheader-client-ca-file', values.requestheaderClientCaFile],
    ...values.serviceAccountKeyFile.map((file) => ['service-account-key-file', file] as const),
  ] as const) {
    if (file !== undefined && !existsSync(file)) throw new OptionError(`--${flag}: ${file} does not exist`);
  }
  const rootDirectory = resolve(values.rootDirectory);
  return markCompleted({
    ...values,
    rootDirectory,
    mappingFile,
    shardsKubeconfig,
    rootKubeconfig,
    certificateFile: tlsCertFile ?? join(rootDirectory, 'apiserver.crt'),
    privateKeyFile: tlsPrivateKeyFile ?? join(rootDirectory, 'apiserver.key'),
    makesCertificate: tlsCertFile === undefined,
    apiAudiences: values.apiAudiences.length > 0 ? values.apiAudiences : values.serviceAccountIssuer,
    features: new FeatureGates(knownGates, values.featureGates),
  });
}
