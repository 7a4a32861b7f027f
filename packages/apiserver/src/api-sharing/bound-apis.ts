import type { DeepReadonly, JsonObject, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { APIResourceSchema, BoundResource, VirtualStorage } from '@multiplane/apis';

/** A resource that an APIBinding provides in a logical cluster. */
export interface BoundApi {
  readonly binding: {
    readonly name: string;
    readonly exportCluster: string | undefined;
    /** As in the spec of the binding: a path or the name of a logical cluster; undefined: the binding's own. */
    readonly exportPath?: string | undefined;
    readonly exportName: string;
    readonly deleting: boolean;
  };
  readonly bound: DeepReadonly<BoundResource>;
}

/** The resources that APIBindings provide in logical clusters, from memory. */
export interface BoundApis {
  boundResource(cluster: LogicalClusterName, group: string, resource: string): BoundApi | undefined;
  /** Every bound resource of a logical cluster, each once. */
  boundResources(cluster: LogicalClusterName): Iterable<BoundApi>;
  /** Uids of the schemas by which a resource of an identity is bound, the one with most bindings first. */
  schemasOf(identity: string, group: string, resource: string): readonly string[];
  /** Whether a binding has a resource of an identity as a virtual resource. */
  isVirtual(identity: string, group: string, resource: string): boolean;
  /** Notifies of every change after it is applied. */
  subscribe(listener: (cluster: LogicalClusterName) => void): () => void;
}

/** The APIs that APIExports of all shards offer, by identity hash. */
export interface ExportedApis {
  /** Exports with an identity; several if they share its secret. */
  exportsOf(identity: string): readonly { readonly cluster: LogicalClusterName; readonly name: string }[];
  /**
   * Uid of the schema by which the export currently offers a resource; undefined if it does not, or has another
   * identity. Called on requests, so it must be cheap.
   */
  offeredSchema(api: BoundApi): string | undefined;
  /** How an export provides a bound resource without storing it; undefined for stored resources. Cheap. */
  virtualStorage(api: BoundApi): VirtualStorage | undefined;
  /** The same for a resource of an identity, in any binding. */
  virtualStorageOf(identity: string, group: string, resource: string): VirtualStorage | undefined;
  /** Every export that exists is known: one that is missing will not appear by itself. */
  readonly isSynced: boolean;
  /** Changes with every change of an export or schema. */
  readonly state: number;
  /** The schema by which a resource is currently offered. */
  schemaOf(identity: string, group: string, resource: string): DeepReadonly<APIResourceSchema> | undefined;
}

/** Whether a resource was bound as a virtual one: its consumer stores no objects of it. */
export const isBoundAsVirtual = ({ storageVersions = [] }: DeepReadonly<BoundResource>): boolean =>
  storageVersions.length === 0;

/** No bound APIs. */
export const noBoundApis: BoundApis = {
  boundResource: () => undefined,
  boundResources: () => [],
  schemasOf: () => [],
  isVirtual: () => false,
  subscribe: () => () => undefined,
};

/** No exported APIs. */
export const noExportedApis: ExportedApis = {
  exportsOf: () => [],
  offeredSchema: () => undefined,
  virtualStorage: () => undefined,
  virtualStorageOf: () => undefined,
  isSynced: true,
  state: 0,
  schemaOf: () => undefined,
};

/** The definition with its names accepted. */
export function established(definition: KubeObject): KubeObject {
  const { names } = definition['spec'] as { names: JsonObject };
  return { ...definition, status: { acceptedNames: names } };
}
