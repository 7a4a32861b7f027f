import { existsSync } from 'node:fs';
import { OptionError, type OptionTable } from '@multiplane/component-base';

/** Flags of the listening address. */
export const listenerOptions = (defaultPort: number) =>
  ({
    'bind-address': { type: 'text', default: '0.0.0.0', description: 'Address to listen on.' },
    'secure-port': {
      type: 'number',
      default: defaultPort,
      min: 0,
      max: 65535,
      description: 'Port for HTTPS; 0 takes any free one.',
    },
  }) as const satisfies OptionTable;

/** Flags of the serving certificate. `isGenerated`: the server generates a certificate if the flags are absent. */
export const servingCertificateOptions = ({ isGenerated }: { readonly isGenerated: boolean }) =>
  ({
    'tls-cert-file': {
      type: 'text',
      description: `Serving certificate (PEM)${isGenerated ? '; default: generated in the root directory' : ''}.`,
    },
    'tls-private-key-file': { type: 'text', description: 'Key of the serving certificate.' },
  }) as const satisfies OptionTable;

export const corsOptionTable = {
  'cors-allowed-origins': { type: 'list', description: 'Regular expressions of allowed CORS origins.' },
} as const satisfies OptionTable;

export const shutdownOptionTable = {
  'shutdown-delay-duration': {
    type: 'duration',
    default: '0s',
    max: '1h',
    description: 'Time between failing readiness and closing the listener at shutdown.',
  },
} as const satisfies OptionTable;

/** Throws OptionError unless `--tls-cert-file` and `--tls-private-key-file` are both set or both absent. */
export function checkServingCertificate(values: {
  readonly tlsCertFile: string | undefined;
  readonly tlsPrivateKeyFile: string | undefined;
}): void {
  if ((values.tlsCertFile === undefined) !== (values.tlsPrivateKeyFile === undefined))
    throw new OptionError('--tls-cert-file and --tls-private-key-file go together');
}

/** Throws OptionError for the first flag whose file does not exist. Absent flags are skipped. */
export function checkFilesExist(files: readonly (readonly [flag: string, file: string | undefined])[]): void {
  for (const [flag, file] of files)
    if (file !== undefined && !existsSync(file)) throw new OptionError(`--${flag}: ${file} does not exist`);
}
