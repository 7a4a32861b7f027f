import type { DeepReadonly, LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiBindings,
  builtInResources,
  claimKey,
  claimLabelPrefix,
  claimLabelValue,
  CustomResources,
  definitionOfSchema,
  exportLabel,
  exportLabelValue,
  isReviewResource,
  needsNoIdentity,
  reflexiveClaimLabelValue,
  type APIExport,
  type APIResourceSchema,
  type PermissionClaim,
  type ResourceDefinition,
} from '@multiplane/apis';
import { identityOf, type ExportsByIdentity } from '@multiplane/apiserver';
import type { Lister, ObjectReference } from '@multiplane/client';
import { slicesOfTurns } from '@multiplane/component-base';
import { SchemaCache } from '@multiplane/schema';

/** One resource in the view of an export, in one version. */
export interface ExportResource {
  readonly definition: ResourceDefinition;
  /** Its name at the shard. */
  readonly upstreamResource: string;
  /** Why it is there; absent: the export brings it. */
  readonly claim?: DeepReadonly<PermissionClaim> | undefined;
  /** Objects with these labels are in the view; undefined: all of them. */
  readonly labelSelector: string | undefined;
  /** Equal texts: nothing changed that a watch would have to end for. */
  readonly fingerprint: string;
}

export interface ExportResources {
  readonly resources: readonly ExportResource[];
  /** Names of all that it was made of; a change of one of them may change it. */
  readonly dependencies: ReadonlySet<string>;
}

const exportDependency = (cluster: string, name: string): string => `export ${cluster}/${name}`;
const schemaDependency = (cluster: string, name: string): string => `schema ${cluster}/${name}`;
const identityDependency = (identity: string): string => `identity ${identity}`;

/** Everything that what is made of an export, or of its identity, depends on. */
export const dependenciesOfExport = (object: DeepReadonly<APIExport>, reference: ObjectReference): string[] => [
  exportDependency(reference.cluster, reference.name),
  identityDependency(identityOf(object)),
];
export const dependencyOfSchema = ({ cluster, name }: ObjectReference): string => schemaDependency(cluster, name);

const readVerbs = ['get', 'list', 'watch'] as const;
/** Schemas whose definitions are kept at hand. */
const maxDefinitions = 4096;
const servedSubresources = new Set(['status', 'scale']);

export interface ExportResourcesModules {
  readonly exports: Lister<APIExport>;
  readonly schemas: Lister<APIResourceSchema>;
  readonly byIdentity: ExportsByIdentity;
}

/**
 * What the view of an export serves (C8.2): its own resources, then what it claims, and in any case its bindings.
 *
 * Claims of kinds that every logical cluster has need no identity (C3.3); any other means the resource of the exports that
 * have the identity. A claim on what the export itself brings is none. What is claimed is seen where the claim's label is,
 * which consumers' acceptance puts on objects; bindings that nobody claims are seen by the label of their export, to
 * be read.
 */
export class ExportResourceFactory {
  readonly #modules: ExportResourcesModules;
  // A view shows schemas and leaves it to the shard to validate by them: their rules need not be compiled.
  readonly #custom = new CustomResources({}, { schemas: new SchemaCache({ origin: 'custom' }) });
  /** By uid: a schema never changes. */
  readonly #definitions = new Map<string, readonly ResourceDefinition[]>();

  constructor(modules: ExportResourcesModules) {
    this.#modules = modules;
  }

  /**
   * Does what takes long beforehand, with pauses: an export may bring, and claim, a thousand resources, and each schema
   * that was not met yet has to be read.
   */
  async prepare(cluster: string, name: string): Promise<void> {
    const object = this.#modules.exports.get({ cluster: cluster as LogicalClusterName, namespace: '', name });
    if (object === undefined) return;
    const slices = slicesOfTurns();
    for (const _ of this.#schemasOf(object, cluster)) {
      if (slices.over) await slices.next();
    }
  }

  /** Everything that {@link of} makes of schemas. */
  *#schemasOf(object: DeepReadonly<APIExport>, cluster: string): Generator {
    const dependencies = new Set<string>();
    yield* this.#exported(object, cluster, dependencies);
    for (const claim of object.spec?.permissionClaims ?? [])
      for (const { reference, object: provider } of this.#modules.byIdentity.of(claim.identityHash ?? ''))
        yield* this.#exported(provider, reference.cluster, dependencies, claim);
  }

  /** Nothing for an export that is not there, or has no identity yet. */
  of(cluster: string, name: string): ExportResources {
    const dependencies = new Set([exportDependency(cluster, name)]);
    const object = this.#modules.exports.get({ cluster: cluster as LogicalClusterName, namespace: '', name });
    const identity = object === undefined ? '' : identityOf(object);
    if (object === undefined || identity === '') return { resources: [], dependencies };
    const resources = new Map<string, ExportResource>();
    const add = (resource: ExportResource): void => {
      const { group, version, resource: plural } = resource.definition;
      const key = `${group}/${version}/${plural}`;
      if (!resources.has(key)) resources.set(key, resource);
    };
    const about = `${object.metadata.uid ?? ''} ${identity}`;
    for (const { schema, definitions } of this.#exported(object, cluster, dependencies))
      for (const definition of definitions)
        add({
          definition,
          upstreamResource: `${definition.resource}:${identity}`,
          labelSelector: undefined,
          fingerprint: `${about} ${schema}`,
        });
    const own = new Set(resources.values().map(({ definition }) => claimKey(definition)));
    for (const claim of object.spec?.permissionClaims ?? []) {
      if (own.has(claimKey({ group: claim.group, resource: claim.resource }))) continue;
      for (const resource of this.#claimed(claim, cluster, name, dependencies))
        add({ ...resource, fingerprint: `${about} ${resource.fingerprint}` });
    }
    for (const definition of builtIn(apiBindings))
      add({
        definition: { ...viewOf(definition), verbs: readVerbs, subresources: {} },
        upstreamResource: definition.resource,
        labelSelector: `${exportLabel}=${exportLabelValue(cluster, name)}`,
        fingerprint: `${about} bindings`,
      });
    return { resources: [...resources.values()], dependencies };
  }

  *#claimed(
    claim: DeepReadonly<PermissionClaim>,
    cluster: string,
    name: string,
    dependencies: Set<string>,
  ): Generator<ExportResource> {
    const { group = '', resource, identityHash = '' } = claim;
    const isBinding = group === apiBindings.group && resource === apiBindings.resource;
    const values = [claimLabelValue(claim), ...(isBinding ? [reflexiveClaimLabelValue] : [])];
    const labelSelector = isReviewResource({ group, resource })
      ? undefined
      : `${claimLabelPrefix}${exportLabelValue(cluster, name)} in (${values.join(',')})`;
    const common = { claim, labelSelector };
    const verbs = [...claim.verbs].sort().join(',');
    if (identityHash === '') {
      if (!needsNoIdentity({ group, resource })) return;
      for (const definition of builtIn({ group, resource }))
        yield {
          ...common,
          definition: viewOf(definition),
          upstreamResource: definition.resource,
          fingerprint: `claim ${verbs}`,
        };
      return;
    }
    dependencies.add(identityDependency(identityHash));
    for (const { reference, object } of this.#modules.byIdentity.of(identityHash))
      for (const { schema, definitions } of this.#exported(object, reference.cluster, dependencies, claim))
        for (const definition of definitions)
          yield {
            ...common,
            definition,
            upstreamResource: `${resource}:${identityHash}`,
            fingerprint: `claim ${verbs} ${identityHash} ${schema}`,
          };
  }

  /** What an export brings, or the one resource of it that is meant. */
  *#exported(
    object: DeepReadonly<APIExport>,
    cluster: string,
    dependencies: Set<string>,
    only?: { readonly group?: string | undefined; readonly resource: string },
  ): Generator<{ readonly schema: string; readonly definitions: readonly ResourceDefinition[] }> {
    for (const { name, group = '', schema } of object.spec?.resources ?? []) {
      if (only !== undefined && (only.resource !== name || (only.group ?? '') !== group)) continue;
      dependencies.add(schemaDependency(cluster, schema));
      const found = this.#modules.schemas.get({ cluster: cluster as LogicalClusterName, namespace: '', name: schema });
      if (found?.spec === undefined || found.spec.names.plural !== name || (found.spec.group ?? '') !== group) continue;
      yield { schema: found.metadata.uid ?? '', definitions: this.#definitionsOf(found) };
    }
  }

  #definitionsOf(schema: DeepReadonly<APIResourceSchema>): readonly ResourceDefinition[] {
    const { uid = '' } = schema.metadata;
    let definitions = this.#definitions.get(uid);
    if (definitions === undefined) {
      const crd = definitionOfSchema(schema);
      const { names } = crd['spec'] as { names: object };
      definitions = this.#custom.definitionsOf({ ...crd, status: { acceptedNames: names } }, neverRetired).map(viewOf);
    } else this.#definitions.delete(uid);
    if (uid === '') return definitions;
    this.#definitions.set(uid, definitions);
    if (this.#definitions.size > maxDefinitions)
      this.#definitions.delete(this.#definitions.keys().next().value as string);
    return definitions;
  }
}

/** Watches of a view end with what the view is made of, not with a definition. */
const neverRetired = new AbortController().signal;

/** Every version of a compiled kind; events of both groups are the same ones. */
function builtIn({ group, resource }: { readonly group: string; readonly resource: string }): ResourceDefinition[] {
  const key = claimKey({ group, resource });
  return builtInResources().filter((definition) => claimKey(definition) === key);
}

function viewOf(definition: ResourceDefinition): ResourceDefinition {
  return {
    ...definition,
    subresources: Object.fromEntries(
      Object.entries(definition.subresources).filter(([name]) => servedSubresources.has(name)),
    ),
  };
}
