import { shardNameAnnotation, type DeepReadonly, type KubeObject, type ObjectMeta } from '@multiplane/apimachinery';

/** The version of the original that a replica shows (C10.3); the reference forgets to refresh it (C16.2). */
export const originalVersionAnnotation = 'cache.kcp.io/original-resource-version';
export const originalUidAnnotation = 'cache.kcp.io/original-resource-UID';

/**
 * What is published of an object: all of it but who owns which field, and where it comes from. Without a resourceVersion:
 * the store that takes it has its own. Shares its parts with the original.
 */
export function replicaOf(shard: string, object: DeepReadonly<KubeObject>): DeepReadonly<KubeObject> {
  const { resourceVersion, managedFields: _unwanted, annotations, ...rest } = object.metadata as ObjectMeta;
  return {
    ...object,
    metadata: {
      ...rest,
      annotations: {
        ...annotations,
        [shardNameAnnotation]: shard,
        [originalVersionAnnotation]: resourceVersion ?? '',
        [originalUidAnnotation]: rest.uid ?? '',
      },
    },
  };
}
