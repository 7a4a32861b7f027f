import {
  clusterAnnotation,
  pathAnnotation,
  type DeepReadonly,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { apiExports, resourceOfSlice, type APIExport, type CachedResourceEndpointSlice } from '@multiplane/apis';
import type { Informer, InformerSource, ObjectReference } from '@multiplane/client';

/**
 * The APIExports that serve a resource through a CachedResourceEndpointSlice: those of the slice's logical cluster whose
 * `storage.virtual` refers to it, and of these the one that `spec.export` names, where it names one.
 */
export class SliceExports {
  readonly exports: Informer<APIExport>;

  constructor(modules: { readonly globalInformers: InformerSource }) {
    this.exports = modules.globalInformers.informer<APIExport>(apiExports);
  }

  of(
    slice: DeepReadonly<CachedResourceEndpointSlice>,
    { cluster, name }: ObjectReference,
  ): readonly DeepReadonly<APIExport>[] {
    return this.exports
      .list({ cluster })
      .filter(
        (object) =>
          this.isMeant(slice, object, cluster) &&
          object.metadata.deletionTimestamp === undefined &&
          resourceOfSlice(object, name) !== undefined,
      );
  }

  /** Whether `spec.export` allows an export of the slice's logical cluster. */
  isMeant(
    { spec }: DeepReadonly<CachedResourceEndpointSlice>,
    { metadata }: DeepReadonly<APIExport>,
    cluster: LogicalClusterName,
  ): boolean {
    const { export: wanted } = spec ?? {};
    if (wanted === undefined) return true;
    const { path = '', name } = wanted;
    return (
      name === metadata.name && (path === '' || path === cluster || path === metadata.annotations?.[pathAnnotation])
    );
  }
}

/** The reference of an object of an informer over all shards. */
export const referenceIn = ({ metadata }: DeepReadonly<KubeObject>): ObjectReference => ({
  cluster: (metadata.annotations?.[clusterAnnotation] ?? '') as LogicalClusterName,
  namespace: '',
  name: metadata.name ?? '',
});
