import {
  isLogicalClusterName,
  isLogicalClusterPath,
  quote,
  statusErrors,
  type LogicalClusterName,
} from '@multiplane/apimachinery';

/** A parsed request target. */
export interface RequestPath {
  /** `x` of `/clusters/x` if it is a logical cluster name or `*`; else undefined. */
  readonly cluster: LogicalClusterName | '*' | undefined;
  /** `x` of `/clusters/x` if it is a workspace path such as `root:a:b`. */
  readonly clusterPath: string | undefined;
  /** The rest of the path, not decoded; never empty. */
  readonly path: string;
  /** The decoded segments of `path`, without empty ones at both ends. */
  readonly segments: readonly string[];
  /** Without the question mark. */
  readonly query: string;
}

const clustersPrefix = '/clusters/';
// oxlint-disable-next-line no-control-regex
const forbiddenCharacters = /[\u0000-\u001f\u007f/]/;

const slash = 0x2f;
const percent = 0x25;
const questionMark = 0x3f;
const hash = 0x23;
const backslash = 0x5c;
const space = 0x20;
const del = 0x7f;

/**
 * Parses the target of a request line. A path has exactly one interpretation, so that authorization, routing and storage
 * cannot disagree (CVE-2022-3162, kcp#4011): dot segments, encoded slashes, control characters and invalid escapes are
 * rejected with 400 instead of being normalized. Doubled slashes cause a redirect, see {@link cleanTarget}.
 */
export function parseRequestPath(target: string): RequestPath {
  if (target.charCodeAt(0) !== slash) throw badPath();
  if (!target.startsWith(clustersPrefix)) return parseRest(target, 0, undefined, undefined);
  const start = clustersPrefix.length;
  let end = start;
  while (end < target.length && target.charCodeAt(end) !== slash && target.charCodeAt(end) !== questionMark) end++;
  const raw = target.slice(start, end);
  // Clients encode `*` (Go's URL.EscapedPath) and may encode `:`. What is decoded once must be a name or a path of names.
  const cluster = raw.includes('%') ? decoded(raw) : raw;
  if (cluster === '*' || isLogicalClusterName(cluster)) return parseRest(target, end, cluster, undefined);
  if (cluster.includes(':') && isLogicalClusterPath(cluster)) return parseRest(target, end, undefined, cluster);
  throw statusErrors.badRequest(`invalid cluster: ${quote(cluster)} does not match the regex`);
}

/** Parses the path from `start` in one pass; this runs for every request. */
function parseRest(
  target: string,
  start: number,
  cluster: LogicalClusterName | '*' | undefined,
  clusterPath: string | undefined,
): RequestPath {
  // A cluster may be followed by nothing or only a query.
  if (start >= target.length || target.charCodeAt(start) === questionMark) {
    return { cluster, clusterPath, path: '/', segments: [], query: target.slice(start + 1) };
  }
  const segments: string[] = [];
  let end = target.length;
  let segmentStart = start + 1;
  let encoded = false;
  for (let at = start + 1; at < target.length; at++) {
    const char = target.charCodeAt(at);
    if (char === slash) {
      segments.push(segmentOf(target, segmentStart, at, encoded));
      segmentStart = at + 1;
      encoded = false;
    } else if (char === questionMark) {
      end = at;
      break;
    } else if (char === percent) {
      encoded = true;
    } else if (char <= space || char === del || char === backslash || char === hash) {
      throw badPath();
    }
  }
  if (segmentStart < end) segments.push(segmentOf(target, segmentStart, end, encoded));
  const path = target.slice(start, end);
  const query = end < target.length ? target.slice(end + 1) : '';
  return { cluster, clusterPath, path, segments, query };
}

function segmentOf(target: string, start: number, end: number, encoded: boolean): string {
  const raw = target.slice(start, end);
  const segment = encoded ? decodeSegment(raw) : raw;
  if (segment === '' || segment === '.' || segment === '..') throw badPath();
  return segment;
}

function decodeSegment(segment: string): string {
  let text: string;
  try {
    text = decodeURIComponent(segment);
  } catch (error) {
    throw statusErrors.badRequest('the path of the request is not valid', error);
  }
  if (forbiddenCharacters.test(text)) throw badPath();
  return text;
}

/**
 * The redirect target for a path with doubled slashes; undefined if there are none. Unlike kcp's redirect it keeps the
 * cluster (docs/compatibility.md).
 */
export function cleanTarget(target: string): string | undefined {
  if (!target.includes('//')) return undefined;
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  // `/clusters//x` has an empty cluster: without the slash, another segment would become the cluster.
  if (!path.includes('//') || path.startsWith('/clusters//')) return undefined;
  const clean = path.replaceAll(/\/{2,}/g, '/');
  return mark < 0 ? clean : clean + target.slice(mark);
}

/** Returns an invalid escape unchanged; `%` occurs in no cluster name. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const badPath = (): Error => statusErrors.badRequest('the path of the request is not valid');
