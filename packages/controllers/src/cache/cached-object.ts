import { shardNameAnnotation, type DeepReadonly, type KubeObject, type ObjectMeta } from '@multiplane/apimachinery';

/** The resourceVersion of the original. Updated with every write, unlike in kcp. */
const originalVersionAnnotation = 'cache.kcp.io/original-resource-version';
const originalUidAnnotation = 'cache.kcp.io/original-resource-UID';

/**
 * The cached object of an object: unchanged, including status and managedFields, but with its origin in annotations and
 * without the resourceVersion, which the cache server assigns. Shares its parts with the original.
 */
export function toCachedObject(shard: string, object: DeepReadonly<KubeObject>): DeepReadonly<KubeObject> {
  const { resourceVersion, annotations, ...rest } = object.metadata as ObjectMeta;
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
