import type { Mapping } from './mapping-file.ts';

/** Stands for any one segment, which names a logical cluster. */
const clusterSegment = '{cluster}';

interface Pattern<M> {
  readonly mapping: M;
  readonly segments: readonly string[];
}

/**
 * Finds the mapping of a path (C11.1): its own path and everything below it. Of those that fit, the most specific wins:
 * a longer one before a shorter one, a literal segment before `{cluster}`; the empty path fits everything.
 */
export class PathMappings<M extends Pick<Mapping, 'path'> = Mapping> {
  readonly #patterns: readonly Pattern<M>[];

  constructor(mappings: readonly M[]) {
    const patterns = mappings.map((mapping) => ({ mapping, segments: mapping.path.split('/').slice(1) }));
    this.#patterns = patterns.sort(
      (a, b) => b.segments.length - a.segments.length || wildcardsOf(a.segments) - wildcardsOf(b.segments),
    );
  }

  /** `segments` of the path as they came, not decoded. */
  find(segments: readonly string[]): { readonly mapping: M; readonly cluster: string | undefined } | undefined {
    for (const pattern of this.#patterns) {
      if (fits(pattern.segments, segments))
        return { mapping: pattern.mapping, cluster: clusterOf(pattern.segments, segments) };
    }
    return undefined;
  }
}

function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  if (pattern.length > segments.length) return false;
  for (let i = 0; i < pattern.length; i++) {
    const wanted = pattern[i] as string;
    if (wanted === clusterSegment ? segments[i] === '' : wanted !== segments[i]) return false;
  }
  return true;
}

/** What stands for `{cluster}`, or behind the first `clusters` segment anywhere (C11.3). */
function clusterOf(pattern: readonly string[], segments: readonly string[]): string | undefined {
  const at = pattern.indexOf(clusterSegment);
  if (at >= 0) return segments[at];
  const behind = segments.indexOf('clusters');
  return behind < 0 ? undefined : segments[behind + 1];
}

const wildcardsOf = (segments: readonly string[]): number =>
  segments.filter((segment) => segment === clusterSegment).length;
