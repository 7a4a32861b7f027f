import { type KubeObject, asJson, deepCopy } from '@multiplane/apimachinery';
import { fromStorage } from './object-reader.ts';
import type { WriteRequest, Written } from './write-request.ts';

/**
 * The answer to a write that went through. In another version than the stored one the client sees what a read would
 * show: a field that the stored version does not know is gone already (K5.4).
 */
export function written(
  request: WriteRequest,
  object: KubeObject,
  stored: KubeObject,
  bytes: Buffer | undefined,
  revision: number,
  created: boolean,
): Written {
  const { definition } = request;
  let shown = object;
  if (bytes === undefined) shown = fromStorage(definition, deepCopy(asJson(stored)) as unknown as KubeObject);
  else if (created && definition.origin === 'custom') {
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
