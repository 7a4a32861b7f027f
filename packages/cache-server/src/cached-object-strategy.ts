import { shardNameAnnotation, validatePathSegmentName, type KubeObject } from '@multiplane/apimachinery';
import { defaultStrategy, type Strategy } from '@multiplane/apis';

/**
 * Strategy of cached objects: no validation, the shard name as an annotation, deletion without finalizers. An object
 * that arrives with the `kcp.io/shard` annotation was published by a shard and keeps its uid, generation and
 * timestamps.
 */
export function cachedObjectStrategy(shard: string): Strategy {
  const isPublished = ({ metadata }: KubeObject): boolean => (metadata.annotations?.[shardNameAnnotation] ?? '') !== '';
  return defaultStrategy({
    validateName: validatePathSegmentName,
    garbageCollected: false,
    ignoresFinalizers: true,
    keepsIdentity: isPublished,
    prepareForCreate: (_context, object) => {
      if (!isPublished(object)) object.metadata.generation = 1;
    },
    canonicalize: ({ metadata }) => {
      if (metadata.annotations?.[shardNameAnnotation] !== shard)
        metadata.annotations = { ...metadata.annotations, [shardNameAnnotation]: shard };
    },
  });
}
