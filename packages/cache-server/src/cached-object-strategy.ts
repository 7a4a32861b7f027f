import { shardNameAnnotation, validatePathSegmentName, type KubeObject } from '@multiplane/apimachinery';
import { defaultStrategy, type Strategy } from '@multiplane/apis';

/**
 * How replicas differ from objects (C10.2): nobody checks them, they say which shard they are of, a delete removes them at
 * once. What a shard replicates keeps the identity of its original; `kcp.io/shard` in what was sent tells that it does.
 */
export function replicaStrategy(shard: string): Strategy {
  const isReplica = ({ metadata }: KubeObject): boolean => (metadata.annotations?.[shardNameAnnotation] ?? '') !== '';
  return defaultStrategy({
    validateName: validatePathSegmentName,
    garbageCollected: false,
    ignoresFinalizers: true,
    keepsIdentity: isReplica,
    prepareForCreate: (_context, object) => {
      if (!isReplica(object)) object.metadata.generation = 1;
    },
    canonicalize: ({ metadata }) => {
      if (metadata.annotations?.[shardNameAnnotation] !== shard)
        metadata.annotations = { ...metadata.annotations, [shardNameAnnotation]: shard };
    },
  });
}
