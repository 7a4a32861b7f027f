import { type KubeObject, asJson, deepCopy } from '@multiplane/apimachinery';
import type { ObjectReader } from './object-reader.ts';
import type { WriteRequest, Written } from './write-request.ts';

/**
 * The answer to a write that went through. In another version than the stored one the client sees what a read would
 * show: a field that the stored version does not know is gone already (K5.4).
 */
export async function written(
  reader: ObjectReader,
  request: WriteRequest,
  object: KubeObject,
  stored: KubeObject,
  bytes: Buffer | undefined,
  revision: number,
  created: boolean,
): Promise<Written> {
  const { definition } = request;
  let shown = object;
  if (bytes === undefined) {
    const copy = deepCopy(asJson(stored)) as unknown as KubeObject;
    shown = await reader.toShown(definition, copy, request.signal);
  } else if (created && definition.origin === 'custom') {
    // A create takes no status. What its schema fills in instead is shown, not stored.
    shown = { ...object };
    definition.schema.applyDefaults(asJson(shown));
    if (shown['status'] !== object['status']) bytes = undefined;
  }
  return {
    object: { ...shown, metadata: { ...shown.metadata, resourceVersion: String(revision) } },
    bytes,
    revision,
    created,
  };
}

/**
 * The answer to a dry run (K1.7). Where a webhook has a say in what is stored it is asked as for a real write: it may
 * refuse.
 */
export async function rehearsed(reader: ObjectReader, request: WriteRequest, object: KubeObject): Promise<KubeObject> {
  const { definition, signal } = request;
  if (definition.conversion === undefined) return object;
  const stored = await reader.toStored(definition, object, signal);
  return stored === object ? object : reader.toShown(definition, stored, signal);
}
