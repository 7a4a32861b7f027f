import { type DeepReadonly, type KubeObject, asJson, deepCopy } from '@multiplane/apimachinery';
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
  readonly created: boolean;
}

/** Builds `object` on demand: most responses are the stored bytes. A class because of the cost of getters in literals. */
class StoredWriteResult implements WriteResult {
  readonly bytes: Buffer | undefined;
  readonly revision: number;
  readonly created: boolean;
  readonly #shown: KubeObject;
  #object: DeepReadonly<KubeObject> | undefined;

  constructor(shown: KubeObject, bytes: Buffer | undefined, revision: number, created: boolean) {
    this.#shown = shown;
    this.bytes = bytes;
    this.revision = revision;
    this.created = created;
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
  bytes: Buffer | undefined,
  revision: number,
  created: boolean,
  shown: KubeObject = object,
): WriteResult | Promise<WriteResult> {
  if (bytes === undefined) return convertedResult(reader, request, stored, revision, created);
  return new StoredWriteResult(shown, shown['status'] === object['status'] ? bytes : undefined, revision, created);
}

async function convertedResult(
  reader: ObjectReader,
  { definition, signal }: WriteRequest,
  stored: KubeObject,
  revision: number,
  created: boolean,
): Promise<WriteResult> {
  const copy = deepCopy(asJson(stored)) as unknown as KubeObject;
  return new StoredWriteResult(await reader.toShown(definition, copy, signal), undefined, revision, created);
}

/** The result of a dry run. Conversion webhooks are called as for a real write, because they may reject the object. */
export async function dryRunResult(
  reader: ObjectReader,
  request: WriteRequest,
  object: KubeObject,
): Promise<KubeObject> {
  const { definition, signal } = request;
  if (reader.isStoredVersion(definition)) return object;
  const stored = await reader.toStored(definition, object, signal);
  return stored === object ? object : reader.toShown(definition, stored, signal);
}
