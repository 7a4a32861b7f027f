import type { DeepReadonly } from '@multiplane/apimachinery';
import {
  builtInResources,
  rootExportKinds,
  type APIBinding,
  type APIResourceSchema,
  type ResourceDefinition,
} from '@multiplane/apis';
import type { CrdNames, CustomResourceDefinition } from '../apiextensions/crd-names.ts';

/** A definition whose names are taken in a logical cluster: its own one, or one that a binding brings. */
export interface NamedDefinition {
  readonly definition: DeepReadonly<CustomResourceDefinition>;
  /** Absent: a definition of the logical cluster itself. */
  readonly binding?: DeepReadonly<APIBinding> | undefined;
}

/** Whose a name is, by the name. */
type Owners = Map<string, NamedDefinition>;

/**
 * The names that are taken in a logical cluster. Made once for all that is to be bound: an export may have a thousand
 * resources, and meet as many.
 */
export class TakenNames {
  /** In the order of their uids, so that each look finds the same one first. */
  readonly #order: ReadonlyMap<NamedDefinition, number>;
  readonly #resources = new Map<string, Owners>();
  readonly #kinds = new Map<string, Owners>();

  constructor(taken: readonly NamedDefinition[]) {
    const uidOf = ({ definition }: NamedDefinition): string => definition.metadata.uid ?? '';
    const sorted = taken.toSorted((a, b) => (uidOf(a) < uidOf(b) ? -1 : 1));
    this.#order = new Map(sorted.map((one, index) => [one, index]));
    for (const one of sorted) {
      const { plural, singular, shortNames = [], kind, listKind } = one.definition.status?.acceptedNames ?? noNames;
      this.#own(this.#resources, one, [plural, singular, ...shortNames]);
      this.#own(this.#kinds, one, [kind, listKind]);
    }
  }

  /** The first definition that has one of the names of a schema. */
  ownerOf({ spec }: DeepReadonly<APIResourceSchema>): NamedDefinition | undefined {
    const group = spec?.group ?? '';
    const { plural, singular, shortNames = [], kind, listKind } = spec?.names ?? noNames;
    const resources = this.#resources.get(group);
    const kinds = this.#kinds.get(group);
    let first: NamedDefinition | undefined;
    const meet = (owners: Owners | undefined, name: string | undefined): void => {
      const owner = name === undefined ? undefined : owners?.get(name);
      if (owner !== undefined && (first === undefined || this.#at(owner) < this.#at(first))) first = owner;
    };
    for (const name of [plural, singular, ...shortNames]) meet(resources, name);
    for (const name of [kind, listKind]) meet(kinds, name);
    return first;
  }

  #at(one: NamedDefinition): number {
    return this.#order.get(one) ?? 0;
  }

  #own(all: Map<string, Owners>, one: NamedDefinition, names: readonly (string | undefined)[]): void {
    const { group } = one.definition.spec;
    const owners: Owners = all.get(group) ?? new Map<string, NamedDefinition>();
    all.set(group, owners);
    for (const name of names) if (name !== undefined && name !== '' && !owners.has(name)) owners.set(name, one);
  }
}
const noNames: DeepReadonly<CrdNames> = { plural: '', kind: '' };
export const noTakenNames = new TakenNames([]);

/**
 * The first name of a schema that a definition of its group has in a logical cluster, as kcp tells it (C5.11); undefined
 * when the schema can be bound.
 *
 * Before all, the kinds that every logical cluster has keep their names: bound, another `secrets` would bring its
 * provider's webhooks, policies and view between a workspace and its own Secrets. The reference binds it.
 */
export function namingConflict(schema: DeepReadonly<APIResourceSchema>, taken: TakenNames): string | undefined {
  const group = schema.spec?.group ?? '';
  for (const kind of builtInResources()) {
    if (kind.group !== group || isRootExported(kind)) continue;
    const { resource: plural, singular, shortNames } = kind;
    const name = takenName(schema, { plural, singular, shortNames, kind: kind.kind, listKind: kind.listKind });
    if (name !== undefined)
      return `naming conflict with the built-in ${JSON.stringify(group === '' ? plural : `${plural}.${group}`)}: spec.names.${name} is forbidden`;
  }
  const owner = taken.ownerOf(schema);
  if (owner === undefined) return undefined;
  const { definition, binding } = owner;
  const whose =
    binding === undefined
      ? `CustomResourceDefinition ${JSON.stringify(definition.metadata.name ?? '')}`
      : `APIBinding ${JSON.stringify(binding.metadata.name ?? '')} bound to ${exportOf(binding)}`;
  return `naming conflict with ${whose}: spec.names.${takenName(schema, definition.status?.acceptedNames) ?? ''} is forbidden`;
}

/** What `root` offers is bound by its own binding. */
const isRootExported = ({ group, resource }: ResourceDefinition): boolean =>
  rootExportKinds.some((exported) => exported.group === group && exported.plurals.includes(resource));

function exportOf({ spec }: DeepReadonly<APIBinding>): string {
  const { path = '', name = '' } = spec?.reference?.export ?? {};
  return path === '' ? `local APIExport ${JSON.stringify(name)}` : `APIExport ${path}:${name}`;
}

function takenName(
  { spec }: DeepReadonly<APIResourceSchema>,
  held: DeepReadonly<CrdNames> | undefined,
): string | undefined {
  const wanted: DeepReadonly<CrdNames> = spec?.names ?? { plural: '', kind: '' };
  const present = (names: readonly (string | undefined)[]): Set<string> =>
    new Set(names.filter((name): name is string => name !== undefined && name !== ''));
  const resources = present([held?.plural, held?.singular, ...(held?.shortNames ?? [])]);
  const kinds = present([held?.kind, held?.listKind]);
  const { plural, singular = '', shortNames = [], kind, listKind = '' } = wanted;
  if (resources.has(plural)) return `plural=${plural}`;
  if (resources.has(singular)) return `singular=${singular}`;
  if (shortNames.some((name) => resources.has(name))) return `shortNames=[${shortNames.join(' ')}]`;
  if (kinds.has(kind)) return `kind=${kind}`;
  if (kinds.has(listKind)) return `listKind=${listKind}`;
  return undefined;
}
