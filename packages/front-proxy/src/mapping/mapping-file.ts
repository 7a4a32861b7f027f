import { errorText, parseYaml } from '@multiplane/apimachinery';
import {
  checkPair,
  ConfigurationDocument,
  ConfigurationError,
  parseCertificates,
  readOptionFile,
  withOption,
  type CertificateWatcher,
  type Watched,
} from '@multiplane/component-base';
import { defaultIdentityHeaderNames, type IdentityHeaderNames } from '@multiplane/generic-server';
import { HeaderFilter, type UpstreamIdentity } from '@multiplane/reverse-proxy';
import { mappingFileSchema, type MappingEntry } from './mapping-schema.ts';

/** One entry of `--mapping-file`, with its files read. */
export interface Mapping {
  /** Without trailing slashes; empty for the default. */
  readonly path: string;
  /** Absent for the shards. */
  readonly backend: URL | undefined;
  readonly identity: Watched<UpstreamIdentity>;
  readonly headers: IdentityHeaderNames;
}

/** The path whose backends are the shards. */
export const shardsPath = '/clusters';

const document = new ConfigurationDocument<readonly MappingEntry[]>(
  { schema: mappingFileSchema },
  { decode: parseYaml },
);

/** Reads `--mapping-file` and the certificates that its entries name. Throws OptionError for the first invalid entry. */
export function readMappings(file: string, modules: { readonly watcher: CertificateWatcher }): Mapping[] {
  const text = readOptionFile('mapping-file', file);
  return withOption('mapping-file', () => {
    const paths = new Set<string>();
    return document.parse(text, file).map((entry) => {
      const mapping = readMapping(entry, file, modules.watcher);
      const { path } = mapping;
      if (paths.has(path))
        throw new ConfigurationError(file, [`two mappings for path ${JSON.stringify(path === '' ? '/' : path)}`]);
      paths.add(path);
      return mapping;
    });
  });
}

/** The identity headers of all mappings, which are removed from requests of clients. */
export function identityHeaderFilter(
  mappings: readonly Mapping[],
  further: { readonly names: readonly string[]; readonly prefixes: readonly string[] },
): HeaderFilter {
  const all = [defaultIdentityHeaderNames, ...mappings.map(({ headers }) => headers)];
  return new HeaderFilter({
    names: [...all.flatMap(({ user, group, uid }) => [user, group, uid]), ...further.names],
    prefixes: [...all.map(({ extraPrefix }) => extraPrefix), ...further.prefixes],
    // Shards check impersonation headers, but only in this spelling.
    hyphenatedOnly: ['impersonate-'],
  });
}

function readMapping(entry: MappingEntry, file: string, watcher: CertificateWatcher): Mapping {
  const { path: given = '', backend = '' } = entry;
  const path = given.replace(/\/+$/, '');
  try {
    if (path !== shardsPath || backend !== '') backendUrl(backend);
    return {
      path,
      backend: path === shardsPath ? undefined : backendUrl(backend),
      identity: readIdentity(entry, watcher),
      headers: {
        user: entry.user_header || defaultIdentityHeaderNames.user,
        group: entry.group_header || defaultIdentityHeaderNames.group,
        uid: entry.uid_header || defaultIdentityHeaderNames.uid,
        extraPrefix: entry.extra_header_prefix || defaultIdentityHeaderNames.extraPrefix,
      },
    };
  } catch (cause) {
    throw new ConfigurationError(
      file,
      [`failed to create path mapping for path ${JSON.stringify(given)}: ${errorText(cause)}`],
      { cause },
    );
  }
}

/** All three files are mandatory, as in kcp. */
function readIdentity(entry: MappingEntry, watcher: CertificateWatcher): Watched<UpstreamIdentity> {
  const { backend_server_ca: caFile = '', proxy_client_cert: certFile = '', proxy_client_key: keyFile = '' } = entry;
  return watcher.watch(`mapping ${entry.path ?? ''}`, (readText) => {
    const ca = attempt(
      () => {
        const bundle = readText(caFile);
        parseCertificates(bundle, caFile);
        return bundle;
      },
      `failed to read CA file ${JSON.stringify(caFile)}`,
    );
    return attempt(
      () => {
        const pair = checkPair(
          { certificatePem: readText(certFile), privateKeyPem: readText(keyFile) },
          { certificateFile: certFile, privateKeyFile: keyFile },
        );
        return { ca, cert: pair.certificatePem, key: pair.privateKeyPem };
      },
      `failed to load client certificate ${JSON.stringify(certFile)} or key ${JSON.stringify(keyFile)}`,
    );
  });
}

function attempt<T>(what: () => T, failure: string): T {
  try {
    return what();
  } catch (error) {
    throw new Error(`${failure}: ${errorText(error)}`, { cause: error });
  }
}

function backendUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw new Error(`failed to parse backend URL ${JSON.stringify(text)}`);
  return url;
}
