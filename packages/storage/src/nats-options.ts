import { OptionError, type OptionTable, type OptionValues } from '@multiplane/component-base';

/** Flags of the servers that publish to or read from the JetStream stream of replicated objects. */
export const natsOptions = {
  'nats-servers': {
    type: 'list',
    description: 'NATS servers with JetStream for replicated objects, as comma-separated host:port.',
  },
  'nats-stream': {
    type: 'text',
    default: 'multiplane',
    description: 'JetStream stream of replicated objects; created when it does not exist.',
  },
  'nats-subject-prefix': {
    type: 'text',
    default: 'multiplane.cache',
    description: 'Prefix of the subjects of the stream.',
  },
  'nats-cafile': { type: 'text', description: 'CA file for the NATS servers; enables TLS.' },
  'nats-certfile': { type: 'text', description: 'Client certificate file for NATS.' },
  'nats-keyfile': { type: 'text', description: 'Key file of the client certificate for NATS.' },
  'nats-token-file': { type: 'text', description: 'File with the token for NATS; read at every connection.' },
} as const satisfies OptionTable;

export type NatsOptionValues = OptionValues<typeof natsOptions>;

/** A JetStream stream and its servers, as `openJetStreamStorage` expects them. */
export interface NatsTarget {
  /** `host:port` or `nats://host:port`. */
  readonly servers: readonly string[];
  readonly stream: string;
  readonly subjectPrefix: string;
  readonly tls?:
    | { readonly caFile: string; readonly certFile?: string | undefined; readonly keyFile?: string | undefined }
    | undefined;
  readonly tokenFile?: string | undefined;
}

/** The stream of the flags; undefined without servers. Throws OptionError for inconsistent flags. */
export function natsTargetOf(values: NatsOptionValues): NatsTarget | undefined {
  if ((values.natsCertfile === undefined) !== (values.natsKeyfile === undefined))
    throw new OptionError('--nats-certfile and --nats-keyfile must be set together');
  if (values.natsCertfile !== undefined && values.natsCafile === undefined)
    throw new OptionError('--nats-certfile requires --nats-cafile');
  if (!/^[A-Za-z0-9_-]+$/.test(values.natsStream))
    throw new OptionError('--nats-stream must consist of letters, digits, - and _');
  if (!/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/.test(values.natsSubjectPrefix))
    throw new OptionError('--nats-subject-prefix must be tokens of letters, digits, - and _, joined by dots');
  if (values.natsServers.length === 0) return undefined;
  return {
    servers: values.natsServers,
    stream: values.natsStream,
    subjectPrefix: values.natsSubjectPrefix,
    ...(values.natsCafile === undefined
      ? {}
      : { tls: { caFile: values.natsCafile, certFile: values.natsCertfile, keyFile: values.natsKeyfile } }),
    ...(values.natsTokenFile === undefined ? {} : { tokenFile: values.natsTokenFile }),
  };
}
