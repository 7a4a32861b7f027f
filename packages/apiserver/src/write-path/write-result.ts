import { type DeepReadonly, type KubeObject, asJson, deepCopy } from '@multiplane/apimachinery';
import type { ObjectReader } from './object-reader.ts';
import type { WriteRequest, Written } from './write-request.ts';

/** A class, for its getter: most answers are the stored bytes, and nobody asks for the object. */
class WrittenObject implements Written {
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
 * The answer to a write that went through. In another version than the stored one the client sees what a read would
 * show: a field that the stored version does not know is gone already (K5.4). `shown` is the object with the status that is
 * shown though none is stored.
 */
export function written(
  reader: ObjectReader,
  request: WriteRequest,
  object: KubeObject,
  stored: KubeObject,
  bytes: Buffer | undefined,
  revision: number,
  created: boolean,
  shown: KubeObject = object,
): Written | Promise<Written> {
  if (bytes === undefined) return converted(reader, request, stored, revision, created);
  return new WrittenObject(shown, shown['status'] === object['status'] ? bytes : undefined, revision, created);
}

async function converted(
  reader: ObjectReader,
  { definition, signal }: WriteRequest,
  stored: KubeObject,
  revision: number,
  created: boolean,
): Promise<Written> {
  const copy = deepCopy(asJson(stored)) as unknown as KubeObject;
  return new WrittenObject(await reader.toShown(definition, copy, signal), undefined, revision, created);
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
