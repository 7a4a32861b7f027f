/** Default of `--authentication-drop-groups`: privileged groups, which the front-proxy must not assert to a shard. */
export const defaultDropGroups: readonly string[] = [
  'system:masters',
  'system:kcp:logical-cluster-admin',
  'system:kcp:initializer:*',
  'system:kcp:terminator:*',
];

/** Selects the groups of a user that are passed on to upstream servers. A pattern is a group or a prefix with `*`. */
export class GroupFilter {
  readonly #passOn: readonly string[];
  readonly #drop: readonly string[];

  /** An empty `passOn` selects all groups. `drop` takes precedence. */
  constructor(options: { readonly passOn: readonly string[]; readonly drop: readonly string[] }) {
    this.#passOn = options.passOn;
    this.#drop = options.drop;
  }

  /** Returns the selected groups, sorted. */
  apply(groups: readonly string[]): string[] {
    return groups
      .filter((group) => this.#passOn.length === 0 || this.#passOn.some((pattern) => matches(pattern, group)))
      .filter((group) => !this.#drop.some((pattern) => matches(pattern, group)))
      .sort();
  }
}

const matches = (pattern: string, group: string): boolean =>
  pattern.endsWith('*') ? group.startsWith(pattern.slice(0, -1)) : group === pattern;
