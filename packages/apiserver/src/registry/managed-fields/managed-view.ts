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

/** The object without metadata that nobody can own; shares everything else. */
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

/** What apply merges into: all of the live object that a configuration may speak of. */
export function withoutManagement(live: DeepReadonly<JsonObject>): JsonObject {
  const { managedFields: _, ...metadata } = live['metadata'] as JsonObject;
  return withoutClusterAnnotation({ ...live, metadata }) as JsonObject;
}

/** The annotation of the logical cluster is the server's, whoever sends it. */
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
