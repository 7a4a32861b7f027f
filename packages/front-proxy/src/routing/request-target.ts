import { isLogicalClusterPath } from '@multiplane/apimachinery';
import { parseRequestPath } from '@multiplane/apiserver';

/** A request target as the front-proxy reads it. */
export interface RequestTarget {
  /** Without the query, as it came. */
  readonly path: string;
  /** With its question mark; empty when there is none. */
  readonly query: string;
  /** Segments of the path as they came; the first is never empty unless the path is `/`. */
  readonly segments: readonly string[];
}

/**
 * Takes a target apart and refuses, with a StatusError 400, what two servers could read in two ways: dot segments,
 * encoded slashes, control characters, broken escapes. What is refused here never reaches a shard; what passes is sent
 * on as it came.
 */
export function parseTarget(url: string): RequestTarget {
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  // A cluster that is none is for the resolver to refuse: it has an answer of its own.
  const rest = path.startsWith('/clusters/') ? behindCluster(path) : path;
  if (rest !== '') parseRequestPath(rest.startsWith('/clusters/') ? rest.slice('/clusters'.length) : rest);
  return { path, query: mark < 0 ? '' : url.slice(mark), segments: path.split('/').slice(1) };
}

/** True for what a path of workspaces may look like; never `*`. */
export const isClusterPath = (text: string): boolean => isLogicalClusterPath(text);

/** True for a request that lasts as long as its client wants. */
export function isLongRunning({ query, segments }: RequestTarget): boolean {
  const asks = query !== '' && /[?&]watch=(?:true|1|t|T|TRUE|True)(?:&|$)/.test(query);
  return asks || segments.includes('watch');
}

function behindCluster(path: string): string {
  const slash = path.indexOf('/', '/clusters/'.length);
  return slash < 0 ? '' : path.slice(slash);
}
