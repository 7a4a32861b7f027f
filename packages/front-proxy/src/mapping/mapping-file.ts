import { isJsonObject, parseYaml, type JsonObject, errorText } from '@multiplane/apimachinery';
import { defaultIdentityHeaderNames, type IdentityHeaderNames } from '@multiplane/apiserver';
import { checkPair, parseCertificates, type CertificateWatcher, type Watched } from '@multiplane/component-base';
import { HeaderFilter, type UpstreamIdentity } from '@multiplane/reverse-proxy';

/** One entry of `--mapping-file` (C11.1). */
export interface Mapping {
  /** Without a slash at its end; empty for the default. */
  readonly path: string;
  /** Absent for the shards. */
  readonly backend: URL | undefined;
  readonly identity: Watched<UpstreamIdentity>;
  readonly headers: IdentityHeaderNames;
}

/** The path whose backends are the shards. */
export const shardsPath = '/clusters';

/** Reads the entries and what they name. Throws for the first that makes no sense. */
export function readMappings(text: string, modules: { readonly watcher: CertificateWatcher }): Mapping[] {
  const value = parseYaml(text);
  if (!Array.isArray(value)) throw new Error('a mapping file is a list of entries with path and backend');
  const mappings = value.map((entry, index) => {
    if (!isJsonObject(entry)) throw new Error(`entry ${index + 1} is no mapping`);
    return readMapping(entry, modules.watcher);
  });
  const paths = new Set<string>();
  for (const { path } of mappings) {
    if (paths.has(path)) throw new Error(`there are two mappings for path ${JSON.stringify(path === '' ? '/' : path)}`);
    paths.add(path);
  }
  return mappings;
}

/** Every identity header that anybody behind these mappings believes in. */
export function identityHeaderFilter(
  mappings: readonly Mapping[],
  further: { readonly names: readonly string[]; readonly prefixes: readonly string[] },
): HeaderFilter {
  const all = [defaultIdentityHeaderNames, ...mappings.map(({ headers }) => headers)];
  return new HeaderFilter({
    names: [...all.flatMap(({ user, group, uid }) => [user, group, uid]), ...further.names],
    prefixes: [...all.map(({ extraPrefix }) => extraPrefix), ...further.prefixes],
    // Impersonation is for the shard to judge, by the one spelling it knows.
    misspelled: ['impersonate-'],
  });
}

function readMapping(entry: JsonObject, watcher: CertificateWatcher): Mapping {
  const given = field(entry, 'path');
  const path = given.replace(/\/+$/, '');
  if (path !== '' && !path.startsWith('/'))
    throw new Error(`path ${JSON.stringify(given)} does not begin with a slash`);
  try {
    const backend = field(entry, 'backend');
    if (path !== shardsPath || backend !== '') backendUrl(backend);
    return {
      path,
      backend: path === shardsPath ? undefined : backendUrl(backend),
      identity: readIdentity(entry, watcher),
      headers: {
        user: headerName(entry, 'user_header', defaultIdentityHeaderNames.user),
        group: headerName(entry, 'group_header', defaultIdentityHeaderNames.group),
        uid: headerName(entry, 'uid_header', defaultIdentityHeaderNames.uid),
        extraPrefix: headerName(entry, 'extra_header_prefix', defaultIdentityHeaderNames.extraPrefix),
      },
    };
  } catch (error) {
    throw new Error(`failed to create path mapping for path ${JSON.stringify(given)}: ${errorText(error)}`, {
      cause: error,
    });
  }
}

/** All three files are mandatory (C11.1). */
function readIdentity(entry: JsonObject, watcher: CertificateWatcher): Watched<UpstreamIdentity> {
  const caFile = field(entry, 'backend_server_ca');
  const certFile = field(entry, 'proxy_client_cert');
  const keyFile = field(entry, 'proxy_client_key');
  return watcher.watch(`mapping ${field(entry, 'path')}`, (readText) => {
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
        const pair = checkPair({ certificatePem: readText(certFile), privateKeyPem: readText(keyFile) }, certFile);
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

function field(entry: JsonObject, name: string): string {
  const value = entry[name] ?? '';
  if (typeof value !== 'string') throw new Error(`${name} is not a text`);
  return value;
}

function headerName(entry: JsonObject, name: string, fallback: string): string {
  const value = field(entry, name);
  if (value === '') return fallback;
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(value))
    throw new Error(`${name} ${JSON.stringify(value)} is no header name`);
  return value;
}
