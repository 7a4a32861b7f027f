import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  loggingOptionTable,
  markCompleted,
  OptionError,
  type Completed,
  type OptionTable,
  type OptionValues,
} from '@multiplane/component-base';
import { natsOptions, natsTargetOf, type NatsTarget } from '@multiplane/storage';

const general = {
  'root-directory': {
    type: 'text',
    default: '.multiplane-cache',
    description: 'Folder for the serving certificate; made with mode 0700.',
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
  'external-hostname': { type: 'text', description: 'Host name that goes into a serving certificate made here.' },
  'tls-cert-file': { type: 'text', description: 'Serving certificate (PEM); made in the root directory when absent.' },
  'tls-private-key-file': { type: 'text', description: 'Key of the serving certificate.' },
  'shutdown-delay-duration': {
    type: 'duration',
    default: '0s',
    description: 'Time between readiness going red and the end of the listener.',
  },
} as const satisfies OptionTable;

const access = {
  'client-ca-file': {
    type: 'text',
    description: 'CA bundle whose client certificates are accepted; users need the organization system:masters.',
  },
  'authorization-always-allow-paths': {
    type: 'list',
    default: ['/healthz', '/readyz', '/livez'],
    description: 'Paths that everybody may get.',
  },
} as const satisfies OptionTable;

/** All flags of a cache server by section (names: C10.7; those of etcd have no place here: docs/adr). */
export const cacheServerOptionSections = {
  General: general,
  Serving: serving,
  Access: access,
  NATS: natsOptions,
  Logging: loggingOptionTable,
} as const;
export const cacheServerOptionTable = {
  ...general,
  ...serving,
  ...access,
  ...natsOptions,
  ...loggingOptionTable,
} as const;

export type CacheServerOptionValues = OptionValues<typeof cacheServerOptionTable>;

export interface CacheServerOptions extends Omit<CacheServerOptionValues, 'rootDirectory' | 'clientCaFile'> {
  /** Absolute. */
  readonly rootDirectory: string;
  readonly clientCaFile: string;
  readonly nats: NatsTarget;
}

/** Fills in what follows from other flags and refuses what does not fit together. Throws OptionError. */
export function completeCacheServerOptions(values: CacheServerOptionValues): Completed<CacheServerOptions> {
  const { clientCaFile } = values;
  if (clientCaFile === undefined)
    throw new OptionError('either --client-ca-file or an embedded authenticator must be configured');
  if ((values.tlsCertFile === undefined) !== (values.tlsPrivateKeyFile === undefined))
    throw new OptionError('--tls-cert-file and --tls-private-key-file go together');
  for (const [flag, file] of [
    ['tls-cert-file', values.tlsCertFile],
    ['tls-private-key-file', values.tlsPrivateKeyFile],
    ['client-ca-file', clientCaFile],
    ['nats-cafile', values.natsCafile],
    ['nats-certfile', values.natsCertfile],
    ['nats-keyfile', values.natsKeyfile],
    ['nats-token-file', values.natsTokenFile],
  ] as const) {
    if (file !== undefined && !existsSync(file)) throw new OptionError(`--${flag}: ${file} does not exist`);
  }
  const nats = natsTargetOf(values);
  if (nats === undefined) throw new OptionError('--nats-servers is needed: a cache server stores nothing itself');
  return markCompleted({ ...values, rootDirectory: resolve(values.rootDirectory), clientCaFile, nats });
}
