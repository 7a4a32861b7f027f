import { isLogicalClusterPath } from '@multiplane/apimachinery';
import { parseRequestPath } from '@multiplane/generic-server';

/** A parsed request target. */
export interface RequestTarget {
  /** Without the query, not decoded. */
  readonly path: string;
  /** With its question mark; empty if there is none. */
  readonly query: string;
  /**
   * Segments of the path. The first is not decoded, because an encoded `clusters` is not the prefix; the others are decoded
   * as the backends decode them. The first is empty only for the path `/`.
   */
  readonly segments: readonly string[];
}

/**
 * Parses a target. Throws a StatusError 400 for targets that two servers could interpret differently: dot segments, encoded
 * slashes, control characters, invalid escapes. Accepted targets are forwarded unchanged.
 */
export function parseTarget(url: string): RequestTarget {
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  // The router rejects invalid clusters with another error.
  const rest = path.startsWith('/clusters/') ? afterCluster(path) : path;
  if (rest !== '') parseRequestPath(rest.startsWith('/clusters/') ? rest.slice('/clusters'.length) : rest);
  return { path, query: mark < 0 ? '' : url.slice(mark), segments: segmentsOf(path) };
}

/** True for a syntactically valid workspace path; false for `*`. */
export const isClusterPath = (text: string): boolean => isLogicalClusterPath(text);

/** True for a request whose duration the client chooses. */
export function isLongRunning({ query, segments }: RequestTarget): boolean {
  const isWatch = query !== '' && /[?&]watch=(?:true|1|t|T|TRUE|True)(?:&|$)/.test(query);
  return isWatch || segments.includes('watch');
}

function segmentsOf(path: string): readonly string[] {
  const segments = path.split('/').slice(1);
  return path.includes('%') ? segments.map((segment, at) => (at === 0 ? segment : decoded(segment))) : segments;
}

/** Returns an invalid escape unchanged; `%` occurs in no cluster name. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function afterCluster(path: string): string {
  const slash = path.indexOf('/', '/clusters/'.length);
  return slash < 0 ? '' : path.slice(slash);
}
