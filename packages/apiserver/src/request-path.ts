import { isLogicalClusterName, isLogicalClusterPath, statusErrors } from '@multiplane/apimachinery';

/** A request target taken apart. */
export interface RequestPath {
  /** `/clusters/<this>`, checked; undefined when the path names no cluster. */
  readonly cluster: string | undefined;
  /** The rest, as it came; never empty. */
  readonly path: string;
  /** Its decoded segments; empty ones at both ends are left out. */
  readonly segments: readonly string[];
  /** Without the question mark. */
  readonly query: string;
}

const clustersPrefix = '/clusters/';
// eslint-disable-next-line no-control-regex
const hostileText = /[\u0000-\u001f\u007f/]/;
// eslint-disable-next-line no-control-regex
const hostileRaw = /[\u0000-\u0020\u007f\\#]/;

/**
 * Takes apart what stands in the request line. A path has exactly one reading here, so that authorization, routing and
 * storage cannot disagree about it (CVE-2022-3162, kcp#4011): dot segments, encoded slashes, control characters and
 * broken escapes are refused with 400 instead of being cleaned up. Doubled slashes alone are harmless: see
 * {@link cleanTarget}.
 */
export function parseRequestPath(target: string): RequestPath {
  const mark = target.indexOf('?');
  const whole = mark < 0 ? target : target.slice(0, mark);
  const query = mark < 0 ? '' : target.slice(mark + 1);
  if (whole.charCodeAt(0) !== 0x2f || hostileRaw.test(whole)) throw badPath();

  let path = whole;
  let cluster: string | undefined;
  if (whole.startsWith(clustersPrefix)) {
    const end = whole.indexOf('/', clustersPrefix.length);
    cluster = end < 0 ? whole.slice(clustersPrefix.length) : whole.slice(clustersPrefix.length, end);
    path = end < 0 ? '/' : whole.slice(end);
    checkCluster(cluster);
  }
  return { cluster, path, segments: segmentsOf(path), query };
}

/** The target without doubled slashes when it has some: where to send the client (C3.2 loses the cluster here; we do not). */
export function cleanTarget(target: string): string | undefined {
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  // An empty cluster is no slash too many: without it another segment would become the cluster.
  if (!path.includes('//') || path.startsWith('/clusters//')) return undefined;
  const clean = path.replaceAll(/\/{2,}/g, '/');
  return mark < 0 ? clean : clean + target.slice(mark);
}

function segmentsOf(path: string): string[] {
  const segments = path.slice(1).split('/');
  if (segments.at(-1) === '') segments.pop();
  for (let i = 0; i < segments.length; i++) {
    let segment = segments[i] as string;
    if (segment.includes('%')) {
      segment = decodeSegment(segment);
      segments[i] = segment;
    }
    if (segment === '.' || segment === '..' || segment === '') throw badPath();
  }
  return segments;
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

/** C11.7: `*`, a name or a path of names; nothing encoded. */
function checkCluster(cluster: string): void {
  if (cluster === '*' || isLogicalClusterName(cluster) || isLogicalClusterPath(cluster)) return;
  throw statusErrors.badRequest(`invalid cluster: "${printable(cluster)}" does not match the regex`);
}

function printable(text: string): string {
  return text.slice(0, 128).replaceAll(/[^\u0020-\u007e]|["\\]/g, '?');
}

const badPath = (): Error => statusErrors.badRequest('the path of the request is not valid');
