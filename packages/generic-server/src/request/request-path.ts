import {
  isLogicalClusterName,
  isLogicalClusterPath,
  quote,
  statusErrors,
  type LogicalClusterName,
} from '@multiplane/apimachinery';

/** A request target taken apart. */
export interface RequestPath {
  /** `/clusters/<this>` when it is one name, or `*`; undefined when it is a path, or the target names no cluster. */
  readonly cluster: LogicalClusterName | '*' | undefined;
  /** `/clusters/<this>` when it is a path of workspaces, `root:a:b`. */
  readonly clusterPath: string | undefined;
  /** The rest, as it came; never empty. */
  readonly path: string;
  /** Its decoded segments; empty ones at both ends are left out. */
  readonly segments: readonly string[];
  /** Without the question mark. */
  readonly query: string;
}

const clustersPrefix = '/clusters/';
// oxlint-disable-next-line no-control-regex
const hostileText = /[\u0000-\u001f\u007f/]/;

const slash = 0x2f;
const percent = 0x25;
const questionMark = 0x3f;
const hash = 0x23;
const backslash = 0x5c;
const space = 0x20;
const del = 0x7f;

/**
 * Takes apart what stands in the request line. A path has exactly one reading here, so that authorization, routing and
 * storage cannot disagree about it (CVE-2022-3162, kcp#4011): dot segments, encoded slashes, control characters and
 * broken escapes are refused with 400 instead of being cleaned up. Doubled slashes alone are harmless: see
 * {@link cleanTarget}.
 */
export function parseRequestPath(target: string): RequestPath {
  if (target.charCodeAt(0) !== slash) throw badPath();
  if (!target.startsWith(clustersPrefix)) return parseRest(target, 0, undefined, undefined);
  const start = clustersPrefix.length;
  let end = start;
  while (end < target.length && target.charCodeAt(end) !== slash && target.charCodeAt(end) !== questionMark) end++;
  const cluster = target.slice(start, end);
  if (cluster === '*' || isLogicalClusterName(cluster)) return parseRest(target, end, cluster, undefined);
  // C11.7: a name or a path of names; nothing encoded.
  if (cluster.includes(':') && isLogicalClusterPath(cluster)) return parseRest(target, end, undefined, cluster);
  throw statusErrors.badRequest(`invalid cluster: ${quote(decoded(cluster))} does not match the regex`);
}

/** Reads the path from `start` in one pass: it is done for every request. */
function parseRest(
  target: string,
  start: number,
  cluster: LogicalClusterName | '*' | undefined,
  clusterPath: string | undefined,
): RequestPath {
  // Right behind a cluster there may be nothing, or a query alone.
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
  if (hostileText.test(text)) throw badPath();
  return text;
}

/** The target without doubled slashes when it has some: where to send the client (C3.2 loses the cluster here; we do not). */
export function cleanTarget(target: string): string | undefined {
  if (!target.includes('//')) return undefined;
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  // An empty cluster is no slash too many: without it another segment would become the cluster.
  if (!path.includes('//') || path.startsWith('/clusters//')) return undefined;
  const clean = path.replaceAll(/\/{2,}/g, '/');
  return mark < 0 ? clean : clean + target.slice(mark);
}

/** For the eyes of the caller only. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const badPath = (): Error => statusErrors.badRequest('the path of the request is not valid');
