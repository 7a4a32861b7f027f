import { resolve } from 'node:path';
import {
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
  checkFilesExist,
  checkServingCertificate,
  clientCaOptions,
  listenerOptions,
  servingCertificateOptions,
  shutdownOptionTable,
} from '@multiplane/generic-server';
import { natsOptions, natsTargetOf, type NatsTarget } from '@multiplane/storage';

const general = {
  'root-directory': {
    type: 'text',
    default: '.multiplane-cache',
    description: 'Folder of the serving certificate and of the embedded store, created with mode 0700.',
  },
  'storage-backend': {
    type: 'text',
    choices: ['nats', 'file'],
    description:
      'Where the cached objects are: in the stream of --nats-servers, or in an embedded store, into which the shards publish through this server; default: nats if --nats-servers is set, else file.',
  },
} as const satisfies OptionTable;

const serving = {
  ...listenerOptions(6443),
  'external-hostname': { type: 'text', description: 'Host name of a generated serving certificate.' },
  ...servingCertificateOptions({ isGenerated: true }),
  ...shutdownOptionTable,
} as const satisfies OptionTable;

const access = {
  ...clientCaOptions('users need the organization system:masters'),
  ...alwaysAllowPathsOptionTable,
} as const satisfies OptionTable;

/**
 * All flags of a cache server by section, with kcp's names; kcp's etcd flags do not apply
 * (docs/adr/0031-stateless-cache-server.md).
 */
export const cacheServerOptionSections = {
  General: general,
  Serving: serving,
  Access: access,
  NATS: natsOptions,
  'Logging and tracing': { ...loggingOptionTable, ...tracingOptionTable },
} as const;
export const cacheServerOptionTable = {
  ...general,
  ...serving,
  ...access,
  ...natsOptions,
  ...loggingOptionTable,
  ...tracingOptionTable,
} as const;

export type CacheServerOptionValues = OptionValues<typeof cacheServerOptionTable>;

export interface CacheServerOptions extends Omit<
  CacheServerOptionValues,
  'rootDirectory' | 'clientCaFile' | 'storageBackend'
> {
  /** Absolute. */
  readonly rootDirectory: string;
  readonly clientCaFile: string;
  /** Undefined: the embedded store. */
  readonly nats: NatsTarget | undefined;
}

/** Fills in derived values and rejects invalid combinations. Throws OptionError. */
export function completeCacheServerOptions(values: CacheServerOptionValues): Completed<CacheServerOptions> {
  const { clientCaFile } = values;
  if (clientCaFile === undefined)
    throw new OptionError('either --client-ca-file or an embedded authenticator must be configured');
  checkServingCertificate(values);
  checkFilesExist([
    ['tls-cert-file', values.tlsCertFile],
    ['tls-private-key-file', values.tlsPrivateKeyFile],
    ['client-ca-file', clientCaFile],
    ['nats-cafile', values.natsCafile],
    ['nats-certfile', values.natsCertfile],
    ['nats-keyfile', values.natsKeyfile],
    ['nats-token-file', values.natsTokenFile],
  ]);
  const nats = natsTargetOf(values);
  const { storageBackend } = values;
  if (storageBackend === 'nats' && nats === undefined)
    throw new OptionError('--storage-backend=nats needs --nats-servers');
  if (storageBackend === 'file' && nats !== undefined)
    throw new OptionError('--storage-backend=file and --nats-servers exclude each other');
  return markCompleted({ ...values, rootDirectory: resolve(values.rootDirectory), clientCaFile, nats });
}
