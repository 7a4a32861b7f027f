import { quote } from '@multiplane/apimachinery';
import { CelError } from './cel-error.ts';
import { declare, type Overload } from './function-declaration.ts';
import { opaqueType } from './types.ts';
import { CelMap, CelOpaque, type CelValue } from './values.ts';

const urlType = opaqueType('kubernetes.URL');

/** A URL as Go's `net/url` takes it apart. */
export class CelUrl extends CelOpaque {
  override readonly type = urlType;
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;
  readonly #text: string;
  constructor(text: string) {
    super();
    const hash = text.indexOf('#');
    const body = hash < 0 ? text : text.slice(0, hash);
    const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:/.exec(body)?.[0] ?? '';
    this.scheme = scheme.slice(0, -1).toLowerCase();
    const question = body.indexOf('?');
    const main = body.slice(scheme.length, question < 0 ? undefined : question);
    this.query = question < 0 ? '' : body.slice(question + 1);
    const authority = main.startsWith('//') ? (/^\/\/[^/]*/.exec(main)?.[0] ?? '//') : '';
    // A zone of an address is written with %25.
    this.host = decoded(authority.slice(2).replace(/^.*@/, ''));
    // After a scheme, what does not begin with a slash is opaque.
    this.path = scheme === '' || main.startsWith('/') ? main.slice(authority.length) : '';
    this.#text = text;
  }
  override get weight(): number {
    return 1;
  }
  override equals(other: CelOpaque): boolean {
    return other instanceof CelUrl && other.#text === this.#text;
  }
  get port(): string {
    return /:(\d*)$/.exec(this.host.replace(/^\[.*\]/, ''))?.[1] ?? '';
  }
  get hostname(): string {
    const bracketed = /^\[([^\]]*)\]/.exec(this.host);
    return bracketed?.[1] ?? this.host.replace(/:\d*$/, '');
  }
}

/** Without its escapes; undefined or as it stands if they are no UTF-8 or no escapes at all. */
function decoded(text: string): string {
  return tryDecode(text) ?? text;
}
function tryDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

/** Why Go's `url.ParseRequestURI` refuses a text; undefined: it does not. */
export function urlProblem(text: string): string | undefined {
  const problem = (reason: string): string => `parse ${quote(text)}: ${reason}`;
  if (text === '') return problem('empty url');
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(text)) return problem('net/url: invalid control character in URL');
  if (text === '*') return undefined;
  if (text.startsWith(':')) return problem('missing protocol scheme');
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:/.exec(text)?.[0];
  const rest = scheme === undefined ? text : text.slice(scheme.length);
  const question = rest.indexOf('?');
  const main = question < 0 ? rest : rest.slice(0, question);
  if (!main.startsWith('/')) return scheme === undefined ? problem('invalid URI for request') : undefined;
  const authority = scheme !== undefined && main.startsWith('//') ? (/^\/\/[^/]*/.exec(main)?.[0] ?? '').slice(2) : '';
  const escape = /%(?![0-9A-Fa-f]{2}).{0,2}/.exec(main);
  if (escape !== null) return problem(`invalid URL escape ${JSON.stringify(escape[0])}`);
  const host = authority.replace(/^.*@/, '');
  // Only what is not ASCII may be escaped in a name.
  const ascii = /%[0-7][0-9A-Fa-f]/.exec(host.replaceAll('%25', ''));
  if (ascii !== null) return problem(`invalid URL escape ${quote(ascii[0])}`);
  if (/[ <>"]/.test(host)) return problem(`invalid character ${JSON.stringify(/[ <>"]/.exec(host)?.[0])} in host name`);
  const port = host.startsWith('[') ? host.replace(/^\[[^\]]*\]/, '') : (/:.*$/.exec(host)?.[0] ?? '');
  if (host.startsWith('[') && !host.includes(']')) return problem("missing ']' in host");
  if (!/^(?::\d*)?$/.test(port)) return problem(`invalid port ${JSON.stringify(port)} after host`);
  return undefined;
}

function parse(text: string): CelUrl {
  const problem = urlProblem(text);
  if (problem !== undefined) throw new CelError(`URL parse error during conversion from string: ${problem}`);
  return new CelUrl(text);
}

function query(url: CelUrl): CelMap {
  const values = new Map<string, string[]>();
  for (const pair of url.query.split('&')) {
    // Go drops what has a semicolon or cannot be decoded.
    const [name, value] = pair.replaceAll('+', ' ').split(/=(.*)/s, 2).map(tryDecode);
    if (pair === '' || pair.includes(';') || name === undefined) continue;
    if (pair.includes('=') && value === undefined) continue;
    const known = values.get(name);
    if (known === undefined) values.set(name, [value ?? '']);
    else known.push(value ?? '');
  }
  return CelMap.of(values);
}

/** The path as Go's `EscapedPath` writes it: what is escaped stays, what must be escaped is. */
function escapedPath(url: CelUrl): string {
  if (/^[A-Za-z0-9\-_.~!$&'()*+,;=:@/%[\]]*$/.test(url.path)) return url.path;
  return encodeURIComponent(decoded(url.path))
    .replaceAll(/%(?:24|26|2B|2C|2F|3A|3B|3D|40)/g, (escape) => decodeURIComponent(escape))
    .replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

const read = (name: string, id: string, get: (url: CelUrl) => CelValue, result = 'string'): Overload =>
  declare(name, id, `kubernetes.URL.() ${result}`, (url) => get(url as CelUrl));

/** Kubernetes' functions of URLs. */
export const urlLibrary: readonly Overload[] = [
  declare('url', 'string_to_url', '(string) kubernetes.URL', (text) => parse(text as string)),
  declare('isURL', 'is_url_string', '(string) bool', (text) => urlProblem(text as string) === undefined),
  read('getScheme', 'url_get_scheme', (url) => url.scheme),
  read('getHost', 'url_get_host', (url) => url.host),
  read('getHostname', 'url_get_hostname', (url) => url.hostname),
  read('getPort', 'url_get_port', (url) => url.port),
  read('getEscapedPath', 'url_get_escaped_path', escapedPath),
  read('getQuery', 'url_get_query', query, 'map(string, list(string))'),
];
