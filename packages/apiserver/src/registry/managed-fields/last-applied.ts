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

/** The manager whose applies take over from the client-side ones; any other name opts out. */
export const kubectlManager = 'kubectl';
const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
/** All annotations together, names included (K2.3). */
const maxAnnotationBytes = 256 * 1024;

/**
 * What `kubectl apply` has set on the client's side and nobody has changed since: `kubectl apply --server-side` may take
 * it without asking (K4.7). Empty when there is no such annotation or it does not fit the object.
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
    // The annotation is the client's: whatever is wrong with it, the conflicts stand.
    return FieldSet.empty;
  }
}

/** The conflicts that remain when some fields may be taken; empty: none. */
export function conflictsBeyond(conflicts: ApplyConflicts, allowed: FieldSet): Map<string, FieldSet> {
  const rest = new Map<string, FieldSet>();
  for (const [manager, set] of conflicts.byManager) {
    const beyond = set.difference(allowed);
    if (!beyond.isEmpty) rest.set(manager, beyond);
  }
  return rest;
}

/** Keeps the annotation true after `kubectl apply --server-side`, so that the client may go back. In place. */
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
