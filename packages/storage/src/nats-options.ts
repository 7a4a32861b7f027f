import { OptionError, type OptionTable, type OptionValues } from '@multiplane/component-base';

/** Flags of every server that publishes to or reads from the stream of replicated objects. */
export const natsOptions = {
  'nats-servers': {
    type: 'list',
    description: 'NATS servers with JetStream, as host:port, comma separated; replicated objects go through them.',
  },
  'nats-stream': {
    type: 'text',
    default: 'multiplane',
    description: 'Stream of replicated objects; made when it is not there.',
  },
  'nats-subject-prefix': {
    type: 'text',
    default: 'multiplane.cache',
    description: 'Subjects of the stream begin with this.',
  },
  'nats-cafile': { type: 'text', description: 'CA of the NATS servers; with it the connection is encrypted.' },
  'nats-certfile': { type: 'text', description: 'Client certificate for NATS.' },
  'nats-keyfile': { type: 'text', description: 'Key of the client certificate for NATS.' },
  'nats-token-file': { type: 'text', description: 'File with the token for NATS; read again at every connection.' },
} as const satisfies OptionTable;

export type NatsOptionValues = OptionValues<typeof natsOptions>;

/** Which stream, and how to reach it: what `openJetStreamStorage` takes. */
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

/** The stream that the flags name; undefined when they name none. Throws OptionError for flags that do not fit together. */
export function natsTargetOf(values: NatsOptionValues): NatsTarget | undefined {
  if ((values.natsCertfile === undefined) !== (values.natsKeyfile === undefined))
    throw new OptionError('--nats-certfile and --nats-keyfile go together');
  if (values.natsCertfile !== undefined && values.natsCafile === undefined)
    throw new OptionError('--nats-certfile needs --nats-cafile');
  if (!/^[A-Za-z0-9_-]+$/.test(values.natsStream))
    throw new OptionError('--nats-stream may have letters, digits, - and _ only');
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
