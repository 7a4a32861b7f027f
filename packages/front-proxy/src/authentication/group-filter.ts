/** What never leaves the proxy unless told otherwise: rights that no shard may be talked into (C11.4). */
export const defaultDropGroups: readonly string[] = [
  'system:masters',
  'system:kcp:logical-cluster-admin',
  'system:kcp:initializer:*',
  'system:kcp:terminator:*',
];

/** Which groups of a caller the servers behind learn (C11.4). A pattern is a group, or its beginning and a `*`. */
export class GroupFilter {
  readonly #passOn: readonly string[];
  readonly #drop: readonly string[];

  /** `passOn` empty: all. What is dropped is dropped, whatever `passOn` says. */
  constructor(options: { readonly passOn: readonly string[]; readonly drop: readonly string[] }) {
    this.#passOn = options.passOn;
    this.#drop = options.drop;
  }

  /** Sorted. */
  apply(groups: readonly string[]): string[] {
    return groups
      .filter((group) => this.#passOn.length === 0 || this.#passOn.some((pattern) => fits(pattern, group)))
      .filter((group) => !this.#drop.some((pattern) => fits(pattern, group)))
      .sort();
  }
}

const fits = (pattern: string, group: string): boolean =>
  pattern.endsWith('*') ? group.startsWith(pattern.slice(0, -1)) : group === pattern;
