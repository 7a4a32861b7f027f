import { isJsonObject, type Json } from '../json/json.ts';
import { JsonSyntaxError, parseJson } from '../json/json-codec.ts';
import { statusErrors, type StatusError } from '../errors/status-error.ts';

/** Where the next page of a list begins. */
export interface ContinueToken {
  /** The first key to look at; inclusive. */
  readonly from: string;
  /** Revision of the list; -1: continue at the newest state, at the price of consistency. */
  readonly revision: number;
}

const tokenVersion = 'meta.k8s.io/v1';
const base64Url = /^[A-Za-z0-9_-]*$/;

/** The token for the page after `lastKey`, an absolute storage key below `prefix`. */
export function encodeContinueToken(lastKey: string, prefix: string, revision: number): string {
  return encodeContinueTokenFrom(`${lastKey}\u0000`, prefix, revision);
}

/** The token for a page that begins at the key `from` itself. */
export function encodeContinueTokenFrom(from: string, prefix: string, revision: number): string {
  if (!from.startsWith(prefix) || from.length === prefix.length)
    throw new RangeError(`key ${from} is not below ${prefix}`);
  const token = { v: tokenVersion, rv: revision, start: from.slice(prefix.length) };
  return Buffer.from(JSON.stringify(token), 'utf8').toString('base64url');
}

const invalid = (why: string): StatusError =>
  statusErrors.badRequest(`invalid continue token: continue key is not valid: ${why}`);

/**
 * Reads a token back, relative to the `prefix` of the list it is used with. The key in it is a client's word: it can
 * never lead out of the prefix. Throws StatusError 400 with Kubernetes' texts.
 */
export function decodeContinueToken(token: string, prefix: string): ContinueToken {
  const fields = decodeFields(token);
  if (fields.v !== tokenVersion) throw invalid(`server does not recognize this encoded version ${fields.v}`);
  if (fields.rv === 0) throw invalid(`incorrect encoded start resourceVersion (version ${tokenVersion})`);
  if (fields.start === '') throw invalid(`encoded start key empty (version ${tokenVersion})`);
  const relative = fields.start.startsWith('/') ? fields.start.slice(1) : fields.start;
  if (!isCleanPath(relative)) throw invalid(fields.start);
  return { from: prefix + relative, revision: fields.rv };
}

function decodeFields(token: string): { v: string; rv: number; start: string } {
  const illegal = base64Url.test(token)
    ? token.length % 4 === 1
      ? token.length - 1
      : -1
    : token.search(/[^A-Za-z0-9_-]/);
  if (illegal >= 0) throw invalid(`illegal base64 data at input byte ${illegal}`);
  let json: Json;
  try {
    json = parseJson(Buffer.from(token, 'base64url'));
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw invalid(error.message);
    throw error;
  }
  if (!isJsonObject(json)) throw invalid('json: cannot unmarshal value into Go value of type storage.continueToken');
  const { v = '', rv = 0, start = '' } = json;
  if (typeof v !== 'string' || typeof rv !== 'number' || !Number.isInteger(rv) || typeof start !== 'string') {
    throw invalid('json: cannot unmarshal value into Go struct field of type storage.continueToken');
  }
  return { v, rv, start };
}

/** A relative path that Go's `path.Clean` would leave as it is. */
function isCleanPath(path: string): boolean {
  return path.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..');
}
