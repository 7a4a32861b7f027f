import { isConditionTrue, type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import type { CrdNames, CustomResourceDefinition, TakenNames } from './crd-names.ts';

/** Names that one definition was given, and whether it still waits for one. */
interface Held {
  readonly resources: readonly string[];
  readonly kinds: readonly string[];
  readonly waits: boolean;
}

/** The definitions of one group in one logical cluster. */
interface Group {
  readonly held: Map<string, Held>;
  readonly resources: Map<string, Set<string>>;
  readonly kinds: Map<string, Set<string>>;
}

const present = (names: readonly (string | undefined)[]): string[] =>
  names.filter((name): name is string => name !== undefined && name !== '');

/**
 * Which definition holds which name, per group and logical cluster (K5.12). Kept up with every change, so that deciding
 * over one definition costs its own names and not all the definitions of its workspace: those can be large, and many.
 */
export class CrdNameIndex {
  readonly #groups = new Map<string, Group>();

  /** Notes what a definition holds now. */
  set(cluster: LogicalClusterName, crd: DeepReadonly<CustomResourceDefinition>): void {
    this.delete(cluster, crd);
    const key = keyOf(cluster, crd);
    const name = crd.metadata.name ?? '';
    let group = this.#groups.get(key);
    if (group === undefined) {
      group = { held: new Map(), resources: new Map(), kinds: new Map() };
      this.#groups.set(key, group);
    }
    const held = heldBy(crd);
    group.held.set(name, held);
    for (const resource of held.resources) add(group.resources, resource, name);
    for (const kind of held.kinds) add(group.kinds, kind, name);
  }

  delete(cluster: LogicalClusterName, crd: DeepReadonly<CustomResourceDefinition>): void {
    const key = keyOf(cluster, crd);
    const group = this.#groups.get(key);
    const name = crd.metadata.name ?? '';
    const held = group?.held.get(name);
    if (group === undefined || held === undefined) return;
    group.held.delete(name);
    for (const resource of held.resources) remove(group.resources, resource, name);
    for (const kind of held.kinds) remove(group.kinds, kind, name);
    if (group.held.size === 0) this.#groups.delete(key);
  }

  /** Whether another definition of the group holds a plural, singular or short name, or a kind or list kind. */
  taken(cluster: LogicalClusterName, crd: DeepReadonly<CustomResourceDefinition>): TakenNames {
    const group = this.#groups.get(keyOf(cluster, crd));
    const own = crd.metadata.name ?? '';
    const byOther = (owners: ReadonlySet<string> | undefined): boolean =>
      owners !== undefined && (owners.size > 1 || !owners.has(own));
    return {
      resource: (name) => byOther(group?.resources.get(name)),
      kind: (name) => byOther(group?.kinds.get(name)),
    };
  }

  /** Definitions of a group whose names were not all accepted. */
  waiting(cluster: LogicalClusterName, group: string): string[] {
    const known = this.#groups.get(`${cluster}/${group}`);
    return known === undefined ? [] : [...known.held].filter(([, { waits }]) => waits).map(([name]) => name);
  }
}

const keyOf = (cluster: LogicalClusterName, crd: DeepReadonly<CustomResourceDefinition>): string =>
  `${cluster}/${crd.spec.group}`;

function heldBy({ status }: DeepReadonly<CustomResourceDefinition>): Held {
  const names: DeepReadonly<CrdNames> | undefined = status?.acceptedNames;
  return {
    resources: present([names?.plural, names?.singular, ...(names?.shortNames ?? [])]),
    kinds: present([names?.kind, names?.listKind]),
    waits: !isConditionTrue(status?.conditions, 'NamesAccepted'),
  };
}

function add(index: Map<string, Set<string>>, key: string, name: string): void {
  const owners = index.get(key);
  if (owners === undefined) index.set(key, new Set([name]));
  else owners.add(name);
}

function remove(index: Map<string, Set<string>>, key: string, name: string): void {
  const owners = index.get(key);
  if (owners?.delete(name) === true && owners.size === 0) index.delete(key);
}
