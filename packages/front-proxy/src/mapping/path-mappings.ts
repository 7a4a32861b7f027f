import type { Mapping } from './mapping-file.ts';

/** Matches one segment, which names a logical cluster. */
const clusterSegment = '{cluster}';

interface Pattern<M> {
  readonly mapping: M;
  readonly segments: readonly string[];
}

/**
 * Finds the mapping for a path. A mapping matches its path and everything below it; the empty path matches everything. The most
 * specific mapping wins: longer paths before shorter ones, literal segments before `{cluster}`.
 */
export class PathMappings<M extends Pick<Mapping, 'path'> = Mapping> {
  readonly #patterns: readonly Pattern<M>[];

  constructor(mappings: readonly M[]) {
    const patterns = mappings.map((mapping) => ({ mapping, segments: mapping.path.split('/').slice(1) }));
    this.#patterns = patterns.sort(
      (a, b) => b.segments.length - a.segments.length || wildcardsOf(a.segments) - wildcardsOf(b.segments),
    );
  }

  /** `segments` as in `RequestTarget`. */
  find(segments: readonly string[]): { readonly mapping: M; readonly cluster: string | undefined } | undefined {
    for (const pattern of this.#patterns) {
      if (matches(pattern.segments, segments))
        return { mapping: pattern.mapping, cluster: clusterOf(pattern.segments, segments) };
    }
    return undefined;
  }
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  if (pattern.length > segments.length) return false;
  for (let i = 0; i < pattern.length; i++) {
    const expected = pattern[i] as string;
    if (expected === clusterSegment ? segments[i] === '' : expected !== segments[i]) return false;
  }
  return true;
}

/** The segment that matches `{cluster}`, else the one after the first `clusters` segment. */
function clusterOf(pattern: readonly string[], segments: readonly string[]): string | undefined {
  const at = pattern.indexOf(clusterSegment);
  if (at >= 0) return segments[at];
  const prefix = segments.indexOf('clusters');
  return prefix < 0 ? undefined : segments[prefix + 1];
}

const wildcardsOf = (segments: readonly string[]): number =>
  segments.filter((segment) => segment === clusterSegment).length;
