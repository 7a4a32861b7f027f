import {
  type ApplyConflicts,
  type DeepReadonly,
  FieldSet,
  type JsonObject,
  type KubeObject,
  type ObjectMeta,
  type TypedObject,
  compareTyped,
  deepCopy,
  encodeJsonGo,
  fieldSetOf,
  getOwn,
  isJsonObject,
  parseJson,
} from '@multiplane/apimachinery';

/** The manager whose server-side applies take over fields from client-side ones; other managers do not. */
export const kubectlManager = 'kubectl';
const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
/** Limit of all annotations together, names included; as Kubernetes. */
const maxAnnotationBytes = 256 * 1024;

/**
 * The fields that a client-side `kubectl apply` set and that have not changed since, by the last-applied annotation:
 * `kubectl apply --server-side` may take them over without a conflict. Empty without a valid annotation.
 */
export function takenOverFromLastApplied(live: TypedObject, apiVersion: string): FieldSet {
  try {
    const metadata = getOwn(live.value, 'metadata') as DeepReadonly<ObjectMeta> | undefined;
    const text = metadata?.annotations?.[annotation] ?? '';
    const config = text === '' ? null : parseJson(text);
    if (!isJsonObject(config) || config['apiVersion'] !== apiVersion) return FieldSet.empty;
    const changes = compareTyped(config, live.value, live.schema);
    return fieldSetOf(config, live.schema)
      .difference(changes.modified)
      .difference(changes.added)
      .difference(changes.removed);
  } catch {
    // The client wrote the annotation: an invalid one leaves the conflicts in place.
    return FieldSet.empty;
  }
}

/** The conflicts in other fields than the allowed ones. */
export function conflictsBeyond(conflicts: ApplyConflicts, allowed: FieldSet): Map<string, FieldSet> {
  const rest = new Map<string, FieldSet>();
  for (const [manager, set] of conflicts.byManager) {
    const beyond = set.difference(allowed);
    if (!beyond.isEmpty) rest.set(manager, beyond);
  }
  return rest;
}

/** Updates the annotation after `kubectl apply --server-side`, so that a later client-side apply still works. In place. */
export function refreshLastApplied(object: KubeObject, config: DeepReadonly<JsonObject>): void {
  const { annotations } = object.metadata;
  if (annotations === undefined || (annotations[annotation] ?? '') === '') return;
  const applied = deepCopy<JsonObject>(config);
  const metadata = applied['metadata'];
  if (metadata !== undefined && isJsonObject(metadata) && isJsonObject(metadata['annotations'] ?? null))
    delete (metadata['annotations'] as JsonObject)[annotation];
  annotations[annotation] = `${encodeJsonGo(applied, { sortKeys: true })}\n`;
  let bytes = 0;
  for (const [name, value] of Object.entries(annotations)) bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  if (bytes > maxAnnotationBytes) delete annotations[annotation];
}
