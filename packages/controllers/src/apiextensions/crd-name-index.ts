import { isConditionTrue, type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import type { CrdNames, CustomResourceDefinition, TakenNames } from './crd-names.ts';

/** The accepted names of a definition, and whether some are not accepted. */
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
 * Index of accepted names by group and logical cluster, so that the names of one definition are checked without reading
 * the other definitions of the workspace, which may be many and large.
 */
export class CrdNameIndex {
  readonly #groups = new Map<string, Group>();

  /** Replaces the names of a definition. */
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

  /** The names that other definitions of the group hold. */
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

  /** Names of the definitions of a group whose names are not all accepted. */
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
