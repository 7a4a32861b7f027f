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
  selectableFieldsOf,
  type APIExport,
  type APIResourceSchema,
  type PermissionClaim,
  type ResourceDefinition,
} from '@multiplane/apis';
import {
  identityOf,
  isolatedDefinitions,
  VirtualDefinitions,
  virtualStorageIn,
  type ExportsByIdentity,
  type IsolatedDefinitionsOf,
} from '@multiplane/apiserver';
import type { Lister, ObjectReference } from '@multiplane/client';
import { timeSlices, type ObjectFaults } from '@multiplane/component-base';
import { SchemaCache } from '@multiplane/schema';

/** One resource of the APIExport virtual workspace, in one version. */
export interface ExportResource {
  readonly definition: ResourceDefinition;
  /** The resource name at the shard. */
  readonly upstreamResource: string;
  /** The permission claim that provides it; absent: the export provides it. */
  readonly claim?: DeepReadonly<PermissionClaim> | undefined;
  /** Only objects that match are visible; undefined: all of them. */
  readonly labelSelector: string | undefined;
  /** Only objects whose stored fields match this field selector are visible; absent: all of them. */
  readonly requiredFields?: string | undefined;
  /** Paths that the storage version of the APIResourceSchema declares as selectable; absent for claimed and built-in resources. */
  readonly selectableFields?: ReadonlySet<string> | undefined;
  /** Its APIResourceSchema declares no columns: tables have the name only. kcp's schemas of built-in kinds are such. */
  readonly hasNameColumnOnly?: boolean | undefined;
  /** Changes whenever open watches must end. */
  readonly fingerprint: string;
}

export interface ExportResources {
  readonly resources: readonly ExportResource[];
  /** Keys of the objects that it depends on; a change of one of them requires a rebuild. */
  readonly dependencies: ReadonlySet<string>;
}

const exportDependency = (cluster: string, name: string): string => `export ${cluster}/${name}`;
const schemaDependency = (cluster: string, name: string): string => `schema ${cluster}/${name}`;
const identityDependency = (identity: string): string => `identity ${identity}`;

/** Dependency keys of an APIExport and of its identity. */
export const dependenciesOfExport = (object: DeepReadonly<APIExport>, reference: ObjectReference): string[] => [
  exportDependency(reference.cluster, reference.name),
  identityDependency(identityOf(object)),
];
export const dependencyOfSchema = ({ cluster, name }: ObjectReference): string => schemaDependency(cluster, name);

const readVerbs = ['get', 'list', 'watch'] as const;
/** Limit of cached definitions, by schema. */
const maxDefinitions = 4096;
const servedSubresources = new Set(['status', 'scale']);

export interface ExportResourcesModules {
  readonly exports: Lister<APIExport>;
  readonly schemas: Lister<APIResourceSchema>;
  readonly byIdentity: ExportsByIdentity;
  readonly faults: ObjectFaults;
}

/**
 * Computes the resources of the APIExport virtual workspace: those of the export, then the claimed ones, and always its
 * APIBindings.
 *
 * Claims on built-in kinds need no identity; any other claim refers to the resources of the exports with the claimed
 * identity. A claim on a resource of the export itself is ignored. Claimed objects are selected by the label of the
 * claim, which the claim label controller sets where the consumer accepts the claim. APIBindings that are not claimed
 * are selected by the label of their export, read-only.
 */
export class ExportResourceFactory {
  readonly #modules: ExportResourcesModules;
  readonly #served: IsolatedDefinitionsOf;
  /** By uid: APIResourceSchemas are immutable. */
  readonly #definitions = new Map<string, readonly ResourceDefinition[]>();
  readonly #virtual = new VirtualDefinitions();

  constructor(modules: ExportResourcesModules) {
    this.#modules = modules;
    // The shard validates objects, so the validation rules are not compiled here.
    const custom = new CustomResources({ schemas: new SchemaCache({ origin: 'custom' }) });
    this.#served = isolatedDefinitions({ custom, faults: modules.faults });
  }

  /**
   * Converts the schemas in time slices before {@link of} needs them: an export may provide and claim a thousand
   * resources.
   */
  async prepare(cluster: string, name: string): Promise<void> {
    const object = this.#modules.exports.get({ cluster: cluster as LogicalClusterName, namespace: '', name });
    if (object === undefined) return;
    const slices = timeSlices();
    for (const _ of this.#schemasOf(object, cluster)) {
      if (slices.isExceeded) await slices.yield();
    }
  }

  /** Every schema that {@link of} converts. */
  *#schemasOf(object: DeepReadonly<APIExport>, cluster: string): Generator {
    const dependencies = new Set<string>();
    yield* this.#exported(object, cluster, dependencies);
    for (const claim of object.spec?.permissionClaims ?? [])
      for (const { reference, object: provider } of this.#modules.byIdentity.of(claim.identityHash ?? ''))
        yield* this.#exported(provider, reference.cluster, dependencies, claim);
  }

  /** Empty for an export that does not exist or has no identity yet. */
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
    for (const { schema, definitions, withoutColumns, selectableFields } of this.#exported(
      object,
      cluster,
      dependencies,
    ))
      for (const definition of definitions)
        add({
          definition,
          hasNameColumnOnly: withoutColumns.has(definition.version),
          upstreamResource: `${definition.resource}:${identity}`,
          labelSelector: undefined,
          selectableFields,
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
        definition: { ...servedDefinition(definition), verbs: readVerbs, subresources: withoutVerbs(definition) },
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
          definition: servedDefinition(definition),
          hasNameColumnOnly: definition.origin === 'built-in',
          upstreamResource: definition.resource,
          fingerprint: `claim ${verbs}`,
        };
      return;
    }
    dependencies.add(identityDependency(identityHash));
    for (const { reference, object } of this.#modules.byIdentity.of(identityHash))
      for (const { schema, definitions, withoutColumns } of this.#exported(
        object,
        reference.cluster,
        dependencies,
        claim,
      ))
        for (const definition of definitions)
          yield {
            ...common,
            definition,
            hasNameColumnOnly: withoutColumns.has(definition.version),
            upstreamResource: `${resource}:${identityHash}`,
            fingerprint: `claim ${verbs} ${identityHash} ${schema}`,
          };
  }

  /** The resources of an export, or the single resource `only`. */
  *#exported(
    object: DeepReadonly<APIExport>,
    cluster: string,
    dependencies: Set<string>,
    only?: { readonly group?: string | undefined; readonly resource: string },
  ): Generator<ExportedSchema> {
    for (const exported of object.spec?.resources ?? []) {
      const { name, group = '', schema } = exported;
      if (only !== undefined && (only.resource !== name || (only.group ?? '') !== group)) continue;
      dependencies.add(schemaDependency(cluster, schema));
      const found = this.#modules.schemas.get({ cluster: cluster as LogicalClusterName, namespace: '', name: schema });
      if (found?.spec === undefined || found.spec.names.plural !== name || (found.spec.group ?? '') !== group) continue;
      const withoutColumns = found.spec.versions.filter((one) => (one.additionalPrinterColumns ?? []).length === 0);
      const definitions = this.#definitionsOf(found, cluster);
      const virtual = virtualStorageIn(object, cluster as LogicalClusterName, exported);
      yield {
        schema: virtual === undefined ? (found.metadata.uid ?? '') : JSON.stringify([found.metadata.uid, virtual]),
        definitions: virtual === undefined ? definitions : definitions.map((one) => this.#virtual.of(one, virtual)),
        withoutColumns: new Set(withoutColumns.map((one) => one.name)),
        selectableFields: new Set(selectableFieldsOf(exported, found)),
      };
    }
  }

  #definitionsOf(schema: DeepReadonly<APIResourceSchema>, cluster: string): readonly ResourceDefinition[] {
    const { uid = '', name = '' } = schema.metadata;
    let definitions = this.#definitions.get(uid);
    if (definitions === undefined) {
      const crd = definitionOfSchema(schema);
      const { names } = crd['spec'] as { names: object };
      const object = { kind: 'APIResourceSchema', cluster, name, version: uid } as const;
      definitions = this.#served({ ...crd, status: { acceptedNames: names } }, neverRetired, undefined, object).map(
        servedDefinition,
      );
    } else this.#definitions.delete(uid);
    if (uid === '') return definitions;
    this.#definitions.set(uid, definitions);
    if (this.#definitions.size > maxDefinitions)
      this.#definitions.delete(this.#definitions.keys().next().value as string);
    return definitions;
  }
}

interface ExportedSchema {
  /** Changes whenever the definitions do. */
  readonly schema: string;
  readonly definitions: readonly ResourceDefinition[];
  /** Versions that declare no columns. */
  readonly withoutColumns: ReadonlySet<string>;
  readonly selectableFields: ReadonlySet<string>;
}

/** Watches end by the fingerprint of the resource, not by its definition. */
const neverRetired = new AbortController().signal;

/**
 * Every version of a built-in kind; events of both API groups are the same resource. Without short names, which kcp's schemas of
 * these kinds lack (`pkg/virtual/apiexport/schemas/builtin`).
 */
function builtIn({ group, resource }: { readonly group: string; readonly resource: string }): ResourceDefinition[] {
  const key = claimKey({ group, resource });
  return builtInResources()
    .filter((definition) => claimKey(definition) === key)
    .map((definition) => ({ ...definition, shortNames: [] }));
}

/** The status is listed in discovery, but no verb is served. */
function withoutVerbs({ subresources: { status } }: ResourceDefinition): ResourceDefinition['subresources'] {
  return status === undefined ? {} : { status: { ...status, verbs: [] } };
}

function servedDefinition(definition: ResourceDefinition): ResourceDefinition {
  return {
    ...definition,
    subresources: Object.fromEntries(
      Object.entries(definition.subresources).filter(([name]) => servedSubresources.has(name)),
    ),
  };
}
