import type { DeepReadonly, LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindings, boundDefinitionsCluster, type APIBinding, type APIResourceSchema } from '@multiplane/apis';
import type { InformerSource, Lister, ObjectReference } from '@multiplane/client';
import { crds, type CrdNames, type CustomResourceDefinition } from '../apiextensions/crd-names.ts';
import type { OfferedResource } from './bound-status.ts';
import { NameOwners, noNameOwners, type NamedDefinition } from './naming-conflict.ts';

const boundCluster = boundDefinitionsCluster as LogicalClusterName;

/** The names of resources and kinds in a logical cluster, as an APIBinding meets them. */
export class BindingNames {
  readonly #bindings: Lister<APIBinding>;
  readonly #definitions: Lister<CustomResourceDefinition>;

  constructor({ informers }: { readonly informers: InformerSource }) {
    this.#bindings = informers.informer<APIBinding>(apiBindings);
    this.#definitions = informers.informer<CustomResourceDefinition>(crds);
  }

  /** Definitions other than those of this binding that own names, in the groups of the offered resources. */
  ownersBeside({ cluster, name }: ObjectReference, resources: readonly OfferedResource[]): NameOwners {
    const groups = new Set(resources.map(({ schema }) => schema.spec?.group ?? ''));
    const owners: NamedDefinition[] = this.#definitions.list({ cluster }).map((definition) => ({ definition }));
    for (const binding of this.#bindings.list({ cluster })) {
      if (binding.metadata.name === name) continue;
      for (const { group, schema } of binding.status?.boundResources ?? []) {
        const definition = groups.has(group) ? this.#boundDefinition(schema.UID) : undefined;
        if (definition !== undefined) owners.push({ definition, binding });
      }
    }
    return owners.length === 0 ? noNameOwners : new NameOwners(owners);
  }

  /** Whether a binding has a resource bound under exactly the names of this schema. */
  areBound({ status }: DeepReadonly<APIBinding>, { metadata, spec }: DeepReadonly<APIResourceSchema>): boolean {
    const { group = '', names } = spec ?? {};
    const bound = status?.boundResources?.find((entry) => entry.resource === names?.plural && entry.group === group);
    if (bound === undefined) return false;
    return bound.schema.UID === metadata.uid || areSame(this.#boundDefinition(bound.schema.UID)?.spec.names, names);
  }

  #boundDefinition(uid: string): DeepReadonly<CustomResourceDefinition> | undefined {
    return this.#definitions.get({ cluster: boundCluster, namespace: '', name: uid });
  }
}

/** Compares all names but categories, which resources may share. */
function areSame(a: DeepReadonly<CrdNames> | undefined, b: DeepReadonly<CrdNames> | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  const textOf = (names: DeepReadonly<CrdNames>): string => {
    const { plural, singular = names.kind.toLowerCase(), kind, listKind = `${kind}List`, shortNames = [] } = names;
    return JSON.stringify([plural, singular, kind, listKind, shortNames]);
  };
  return textOf(a) === textOf(b);
}
