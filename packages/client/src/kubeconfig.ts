import { readFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { isJsonObject, parseYaml, type Json, type JsonObject } from '@multiplane/apimachinery';
import {
  checkPair,
  ConfigurationDocument,
  ConfigurationError,
  type CertificateWatcher,
  type ReadText,
  type Watched,
} from '@multiplane/component-base';
import { kubeconfigSchema } from './kubeconfig-schema.ts';

/** The part of a kubeconfig that this system reads and writes; unknown fields are kept. */
export interface Kubeconfig {
  apiVersion: 'v1';
  kind: 'Config';
  'current-context'?: string;
  clusters: {
    name: string;
    cluster: {
      server: string;
      'certificate-authority-data'?: string;
      'certificate-authority'?: string;
      'insecure-skip-tls-verify'?: boolean;
      'tls-server-name'?: string;
      'proxy-url'?: string;
      extensions?: { name: string; extension: Json }[];
    };
  }[];
  contexts: { name: string; context: { cluster: string; user: string; namespace?: string } }[];
  users: {
    name: string;
    user: {
      token?: string;
      tokenFile?: string;
      'client-certificate-data'?: string;
      'client-key-data'?: string;
      'client-certificate'?: string;
      'client-key'?: string;
      exec?: ExecPlugin;
    };
  }[];
  preferences?: JsonObject;
}

/** A credential plugin (`client.authentication.k8s.io`). Only the kubectl plugins run it. */
export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly installHint?: string;
  readonly provideClusterInfo?: boolean;
  readonly interactiveMode?: 'Never' | 'IfAvailable' | 'Always';
}

/** Address, trust and credentials of one context of a kubeconfig, with its files read. */
export interface ClientConfig {
  readonly server: string;
  readonly ca?: string | undefined;
  readonly insecure?: boolean | undefined;
  readonly serverName?: string | undefined;
  readonly token?: string | undefined;
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
  /** URL of the HTTP proxy in front of the server. */
  readonly proxy?: string | undefined;
}

const readTextFile: ReadText = (path) => readFileSync(path, 'utf8');

/**
 * Reads a kubeconfig file as it is, for programs that rewrite it; servers read theirs with {@link readClientConfig}. Throws
 * an Error that names the file when it does not hold an object.
 */
export function readKubeconfig(file: string, readText: ReadText = readTextFile): Kubeconfig {
  const value = parseYaml(readText(file));
  if (!isJsonObject(value)) throw new Error(`${file} is not a kubeconfig`);
  return withLists(value);
}

const withLists = (config: Partial<Kubeconfig>): Kubeconfig => ({
  ...config,
  apiVersion: 'v1',
  kind: 'Config',
  clusters: config.clusters ?? [],
  contexts: config.contexts ?? [],
  users: config.users ?? [],
});

const document = new ConfigurationDocument<Partial<Kubeconfig>>({ schema: kubeconfigSchema }, { decode: parseYaml });

/**
 * The client settings of one context (absent: the current one) of a kubeconfig that a flag names. Throws ConfigurationError
 * for an invalid kubeconfig and for files in it that cannot be read.
 */
export function readClientConfig(
  options: { readonly file: string; readonly context?: string | undefined },
  readText: ReadText = readTextFile,
): ClientConfig {
  const { file, context } = options;
  try {
    const config = clientConfigOf(withLists(document.parse(readText(file), file)), file, context, readText);
    if (!URL.canParse(config.server)) throw new Error(`invalid server URL: ${JSON.stringify(config.server ?? '')}`);
    return config;
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw cause;
    throw new ConfigurationError(file, [(cause as Error).message], { cause });
  }
}

/** The client settings of one context (absent: the current one). Relative paths are resolved against the folder of `file`. */
export function clientConfigOf(
  config: Kubeconfig,
  file: string,
  contextName = config['current-context'],
  readText: ReadText = readTextFile,
): ClientConfig {
  const context = config.contexts.find(({ name }) => name === contextName)?.context;
  if (context === undefined)
    throw new Error(
      contextName === undefined || contextName === ''
        ? 'the kubeconfig has no current context'
        : `no context exists with the name: "${contextName}"`,
    );
  const cluster = config.clusters.find(({ name }) => name === context.cluster)?.cluster;
  if (cluster === undefined) throw new Error(`cluster "${context.cluster}" of context "${contextName}" does not exist`);
  const user = config.users.find(({ name }) => name === context.user)?.user ?? {};
  const read = (data: string | undefined, path: string | undefined): string | undefined =>
    data !== undefined
      ? Buffer.from(data, 'base64').toString()
      : path === undefined
        ? undefined
        : readText(isAbsolute(path) ? path : join(dirname(file), path));
  return {
    server: cluster.server,
    ca: read(cluster['certificate-authority-data'], cluster['certificate-authority']),
    insecure: cluster['insecure-skip-tls-verify'],
    serverName: cluster['tls-server-name'],
    token: user.token ?? read(undefined, user.tokenFile)?.trim(),
    certificate: read(user['client-certificate-data'], user['client-certificate']),
    key: read(user['client-key-data'], user['client-key']),
    proxy: cluster['proxy-url'] === '' ? undefined : cluster['proxy-url'],
  };
}

/**
 * {@link readClientConfig}, read again whenever the kubeconfig or a file that it names changes. Throws when the first read
 * fails.
 */
export function watchClientConfig(
  options: { readonly file: string; readonly context?: string | undefined },
  modules: { readonly watcher: CertificateWatcher },
): Watched<ClientConfig> {
  return modules.watcher.watch(options.file, (readText) => {
    const config = readClientConfig(options, readText);
    if (config.certificate !== undefined && config.key !== undefined)
      checkPair(
        { certificatePem: config.certificate, privateKeyPem: config.key },
        { certificateFile: options.file, privateKeyFile: options.file },
      );
    return config;
  });
}
