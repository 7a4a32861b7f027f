import type { DeepReadonly } from '@multiplane/apimachinery';
import {
  builtInResources,
  rootExportKinds,
  type APIBinding,
  type APIResourceSchema,
  type ResourceDefinition,
} from '@multiplane/apis';
import type { CrdNames, CustomResourceDefinition } from '../apiextensions/crd-names.ts';

/** A definition that owns names in a logical cluster: a CRD there, or the definition of a bound schema. */
export interface NamedDefinition {
  readonly definition: DeepReadonly<CustomResourceDefinition>;
  /** Undefined for a CRD of the logical cluster. */
  readonly binding?: DeepReadonly<APIBinding> | undefined;
}

/** By name. */
type Owners = Map<string, NamedDefinition>;

/**
 * The owners of names in a logical cluster. Built once per pass for all resources of an export, because both sides may be
 * thousands.
 */
export class NameOwners {
  /** Sorted by uid, so that repeated passes report the same conflict. */
  readonly #order: ReadonlyMap<NamedDefinition, number>;
  readonly #resources = new Map<string, Owners>();
  readonly #kinds = new Map<string, Owners>();

  constructor(definitions: readonly NamedDefinition[]) {
    const uidOf = ({ definition }: NamedDefinition): string => definition.metadata.uid ?? '';
    const sorted = definitions.toSorted((a, b) => (uidOf(a) < uidOf(b) ? -1 : 1));
    this.#order = new Map(sorted.map((one, index) => [one, index]));
    for (const one of sorted) {
      const { plural, singular, shortNames = [], kind, listKind } = one.definition.status?.acceptedNames ?? noNames;
      this.#own(this.#resources, one, [plural, singular, ...shortNames]);
      this.#own(this.#kinds, one, [kind, listKind]);
    }
  }

  /** The first definition, by uid, that owns one of the names of a schema. */
  ownerOf({ spec }: DeepReadonly<APIResourceSchema>): NamedDefinition | undefined {
    const group = spec?.group ?? '';
    const { plural, singular, shortNames = [], kind, listKind } = spec?.names ?? noNames;
    const resources = this.#resources.get(group);
    const kinds = this.#kinds.get(group);
    let first: NamedDefinition | undefined;
    const consider = (owners: Owners | undefined, name: string | undefined): void => {
      const owner = name === undefined ? undefined : owners?.get(name);
      if (owner !== undefined && (first === undefined || this.#at(owner) < this.#at(first))) first = owner;
    };
    for (const name of [plural, singular, ...shortNames]) consider(resources, name);
    for (const name of [kind, listKind]) consider(kinds, name);
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
export const noNameOwners = new NameOwners([]);

/**
 * kcp's message about the first name of a schema that another definition of its group owns (kcp:
 * pkg/reconciler/apis/apibinding/conflict_checker.go); undefined if the schema can be bound.
 *
 * Unlike in kcp, built-in kinds conflict first: a bound `secrets` would put the webhooks, policies and virtual workspace of
 * a provider between a workspace and its own Secrets.
 */
export function namingConflict(schema: DeepReadonly<APIResourceSchema>, owners: NameOwners): string | undefined {
  const group = schema.spec?.group ?? '';
  for (const kind of builtInResources()) {
    if (kind.group !== group || isRootExported(kind)) continue;
    const { resource: plural, singular, shortNames } = kind;
    const name = takenName(schema, { plural, singular, shortNames, kind: kind.kind, listKind: kind.listKind });
    if (name !== undefined)
      return `naming conflict with the built-in ${JSON.stringify(group === '' ? plural : `${plural}.${group}`)}: spec.names.${name} is forbidden`;
  }
  const owner = owners.ownerOf(schema);
  if (owner === undefined) return undefined;
  const { definition, binding } = owner;
  const ownerText =
    binding === undefined
      ? `CustomResourceDefinition ${JSON.stringify(definition.metadata.name ?? '')}`
      : `APIBinding ${JSON.stringify(binding.metadata.name ?? '')} bound to ${exportOf(binding)}`;
  return `naming conflict with ${ownerText}: spec.names.${takenName(schema, definition.status?.acceptedNames) ?? ''} is forbidden`;
}

/** Kinds that `root` exports are bound like any other export. */
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
