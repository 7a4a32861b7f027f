import { join, resolve } from 'node:path';
import {
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
  listenerOptions,
  servingCertificateOptions,
  shutdownOptionTable,
} from '@multiplane/generic-server';

/** Flags of the console wherever it runs. */
export const consoleOptionTable = {
  'console-config-file': {
    type: 'text',
    description: 'OpenID Connect issuers whose users log in to the console (a ConsoleConfiguration, YAML).',
  },
  'console-external-url': {
    type: 'text',
    description: 'URL of the console without a path, as browsers reach it; default: that of each request.',
  },
  'console-session-lifetime': {
    type: 'duration',
    default: '12h',
    min: '1s',
    description: 'Time after which users of the console log in again.',
  },
  'console-login-link-lifetime': {
    type: 'duration',
    default: '10m',
    min: '1s',
    max: '24h',
    description: 'Time in which a one-time log-in link can be used.',
  },
  'console-max-sessions': {
    type: 'number',
    default: 10_000,
    min: 1,
    description: 'Sessions of the console at the same time.',
  },
} as const satisfies OptionTable;

const general = {
  'api-server-url': { type: 'text', description: 'URL of the front-proxy or shard, without a path.' },
  'api-server-external-url': {
    type: 'text',
    description: 'URL of the front-proxy as clients reach it, for kubeconfigs; default: --api-server-url.',
  },
  'api-server-ca-file': { type: 'text', description: 'CAs that verify it (PEM); default: those of the system.' },
  'root-directory': {
    type: 'text',
    default: '.multiplane',
    description: 'Directory of the generated serving certificate, created with mode 0700.',
  },
} as const satisfies OptionTable;
const serving = {
  ...listenerOptions(8443),
  ...servingCertificateOptions({ isGenerated: true }),
  ...shutdownOptionTable,
  ...alwaysAllowPathsOptionTable,
} as const satisfies OptionTable;

/** All flags of `multiplane console` by section. */
export const consoleServerOptionSections = {
  General: general,
  Console: consoleOptionTable,
  Serving: serving,
  Logging: loggingOptionTable,
} as const;
export const consoleServerOptionTable = {
  ...general,
  ...consoleOptionTable,
  ...serving,
  ...loggingOptionTable,
} as const;

export type ConsoleOptions = OptionValues<typeof consoleOptionTable>;
type Values = OptionValues<typeof consoleServerOptionTable>;

export interface ConsoleServerOptions extends Omit<Values, 'rootDirectory' | 'apiServerUrl'> {
  readonly apiServerUrl: string;
  /** Absolute. */
  readonly rootDirectory: string;
  readonly certificateFile: string;
  readonly privateKeyFile: string;
  readonly generatesCertificate: boolean;
}

/** Rejects invalid values. Throws OptionError. */
export function checkConsoleOptions(values: ConsoleOptions): void {
  checkFilesExist([['console-config-file', values.consoleConfigFile]]);
  if (values.consoleExternalUrl !== undefined) checkOrigin('console-external-url', values.consoleExternalUrl);
}

/** Fills in derived values and rejects invalid combinations. Throws OptionError. */
export function completeConsoleServerOptions(values: Values): Completed<ConsoleServerOptions> {
  const { apiServerUrl, tlsCertFile } = values;
  if (apiServerUrl === undefined) throw new OptionError('--api-server-url is required');
  checkOrigin('api-server-url', apiServerUrl);
  if (values.apiServerExternalUrl !== undefined) checkOrigin('api-server-external-url', values.apiServerExternalUrl);
  checkConsoleOptions(values);
  checkServingCertificate(values);
  checkFilesExist([
    ['api-server-ca-file', values.apiServerCaFile],
    ['tls-cert-file', tlsCertFile],
    ['tls-private-key-file', values.tlsPrivateKeyFile],
  ]);
  const rootDirectory = resolve(values.rootDirectory);
  return markCompleted({
    ...values,
    apiServerUrl,
    rootDirectory,
    certificateFile: tlsCertFile ?? join(rootDirectory, 'console.crt'),
    privateKeyFile: values.tlsPrivateKeyFile ?? join(rootDirectory, 'console.key'),
    generatesCertificate: tlsCertFile === undefined,
  });
}

function checkOrigin(flag: string, text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:' || url.pathname !== '/' || url.search !== '' || url.hash !== '' || url.username !== '')
    throw new OptionError(`--${flag}: ${JSON.stringify(text)} is not an https URL without a path`);
}
