import type { DeepReadonly, JsonObject, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { APIResourceSchema, BoundResource } from '@multiplane/apis';

/** A resource as a binding brings it into a logical cluster. */
export interface BoundApi {
  readonly binding: {
    readonly name: string;
    readonly exportCluster: string | undefined;
    readonly exportName: string;
    readonly deleting: boolean;
  };
  readonly bound: DeepReadonly<BoundResource>;
}

/** Which resources bindings bring into logical clusters; answers come from memory. */
export interface BoundApis {
  boundResource(cluster: LogicalClusterName, group: string, resource: string): BoundApi | undefined;
  /** Every bound resource of a logical cluster, each once. */
  boundResources(cluster: LogicalClusterName): Iterable<BoundApi>;
  /** Uids of the schemas by which a resource of an identity is bound, the one with most bindings first. */
  schemasOf(identity: string, group: string, resource: string): readonly string[];
  /** Tells of every change, when the answers are already the new ones. */
  subscribe(listener: (cluster: LogicalClusterName) => void): () => void;
}

/** What exports of all shards offer, by the identity of the export (C1.2). */
export interface ExportedApis {
  /** Exports with an identity; several when they share its secret. */
  exportsOf(identity: string): readonly { readonly cluster: LogicalClusterName; readonly name: string }[];
  /**
   * Uid of the schema by which an export offers a resource now; undefined when it does not, or has another identity.
   * It is asked for on requests, so it is cheap.
   */
  offeredSchema(api: BoundApi): string | undefined;
  /** Changes with every change of what exports offer. */
  readonly state: number;
  /** The schema by which a resource is offered now. */
  schemaOf(identity: string, group: string, resource: string): DeepReadonly<APIResourceSchema> | undefined;
}

/** Nobody binds anything. */
export const noBoundApis: BoundApis = {
  boundResource: () => undefined,
  boundResources: () => [],
  schemasOf: () => [],
  subscribe: () => () => undefined,
};

/** Nobody exports anything. */
export const noExportedApis: ExportedApis = {
  exportsOf: () => [],
  offeredSchema: () => undefined,
  state: 0,
  schemaOf: () => undefined,
};

/** A definition as if its names had been accepted. */
export function established(definition: KubeObject): KubeObject {
  const { names } = definition['spec'] as { names: JsonObject };
  return { ...definition, status: { acceptedNames: names } };
}
