import { type DeepReadonly, type JsonObject, type KubeObject, asJson, deepCopy } from '@multiplane/apimachinery';
import type { ObjectReader } from '../registry/store/object-reader.ts';
import type { WriteRequest } from './write-request.ts';

/** What one attempt of {@link guaranteedUpdate} returns. */
export interface UpdateOutcome {
  /** The attempt left the store as it was; its result describes the state that it started from. */
  readonly unchanged?: true | undefined;
}

export interface WriteResult extends UpdateOutcome {
  /** In the version of the request, with its resourceVersion. Frozen once it is handed out. */
  readonly object: DeepReadonly<KubeObject>;
  /** The stored bytes if a client of this version receives exactly those; together with `revision` the cheapest response. */
  readonly bytes: Buffer | undefined;
  readonly revision: number;
  /** About the length of the object in bytes. */
  readonly size: number;
  readonly created: boolean;
}

/** Builds `object` on demand: most responses are the stored bytes. A class because of the cost of getters in literals. */
class StoredWriteResult implements WriteResult {
  readonly bytes: Buffer | undefined;
  readonly revision: number;
  readonly size: number;
  readonly created: boolean;
  readonly #shown: KubeObject;
  #object: DeepReadonly<KubeObject> | undefined;

  constructor(
    shown: KubeObject,
    bytes: Buffer | undefined,
    written: Pick<WriteResult, 'revision' | 'size' | 'created'>,
  ) {
    this.#shown = shown;
    this.bytes = bytes;
    this.revision = written.revision;
    this.size = written.size;
    this.created = written.created;
  }

  get object(): DeepReadonly<KubeObject> {
    return (this.#object ??= {
      ...this.#shown,
      metadata: { ...this.#shown.metadata, resourceVersion: String(this.revision) },
    });
  }
}

/**
 * The result of a write that the store accepted. In another version than the stored one the client sees what a read would
 * return: fields that the storage version lacks are dropped. `shown` differs from `object` by a defaulted status that is
 * returned but not stored.
 */
export function writeResult(
  reader: ObjectReader,
  request: WriteRequest,
  object: KubeObject,
  stored: KubeObject,
  written: { readonly bytes: Buffer; readonly revision: number; readonly created: boolean },
  shown: KubeObject = object,
): WriteResult | Promise<WriteResult> {
  const { bytes, revision, created } = written;
  const about = { revision, created, size: bytes.length };
  if (stored !== object) return convertedResult(reader, request, stored, about);
  return new StoredWriteResult(shown, shown['status'] === object['status'] ? bytes : undefined, about);
}

async function convertedResult(
  reader: ObjectReader,
  request: WriteRequest,
  stored: KubeObject,
  written: Pick<WriteResult, 'revision' | 'size' | 'created'>,
): Promise<WriteResult> {
  const { definition, work } = request;
  await work.pause();
  const copy = deepCopy<JsonObject>(asJson(stored));
  const shown = await reader.toShown(definition, copy as unknown as KubeObject, work);
  return new StoredWriteResult(shown, undefined, written);
}

/** The result of a dry run. Conversion webhooks are called as for a real write, because they may reject the object. */
export async function dryRunResult(
  reader: ObjectReader,
  request: WriteRequest,
  object: KubeObject,
): Promise<KubeObject> {
  const { definition, work } = request;
  if (reader.isStoredVersion(definition)) return object;
  const stored = await reader.toStored(definition, object, work);
  return stored === object ? object : reader.toShown(definition, stored, work);
}
