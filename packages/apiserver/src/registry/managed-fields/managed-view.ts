import {
  type DeepReadonly,
  type JsonObject,
  type KubeObject,
  asJson,
  clusterAnnotation,
  getOwn,
  isJsonObject,
} from '@multiplane/apimachinery';

const serverOwned = new Set([
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'selfLink',
  'managedFields',
]);

/** The object without metadata that no manager can own; everything else is shared with it. */
export function managedView(object: KubeObject): JsonObject {
  const metadata: JsonObject = {};
  const source = object.metadata as JsonObject;
  for (const field of Object.keys(source)) {
    if (serverOwned.has(field)) continue;
    const value = source[field];
    if (value === undefined) continue;
    if (field !== 'annotations' || !isJsonObject(value) || !Object.hasOwn(value, clusterAnnotation)) {
      metadata[field] = value;
      continue;
    }
    const { [clusterAnnotation]: _, ...others } = value;
    if (Object.keys(others).length > 0) metadata[field] = others;
  }
  return { ...asJson(object), metadata };
}

/** The live object as the target of an apply: without managedFields and the annotation `kcp.io/cluster`. */
export function withoutManagement(live: DeepReadonly<JsonObject>): JsonObject {
  const { managedFields: _, ...metadata } = live['metadata'] as JsonObject;
  return withoutClusterAnnotation({ ...live, metadata }) as JsonObject;
}

/** The object without the annotation `kcp.io/cluster`, which only the server sets. */
export function withoutClusterAnnotation(object: DeepReadonly<JsonObject>): DeepReadonly<JsonObject> {
  const metadata = getOwn(object, 'metadata') ?? null;
  if (!isJsonObject(metadata)) return object;
  const annotations = getOwn(metadata, 'annotations') ?? null;
  if (!isJsonObject(annotations) || !Object.hasOwn(annotations, clusterAnnotation)) return object;
  const { [clusterAnnotation]: _, ...others } = annotations;
  const { annotations: __, ...rest } = metadata;
  return {
    ...object,
    metadata: Object.keys(others).length > 0 ? { ...rest, annotations: others } : rest,
  };
}
