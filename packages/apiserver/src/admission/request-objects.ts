import { type DeepReadonly, type JsonObject, type KubeObject, asJson, deepCopy } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { plainValue, type CelValue } from '@multiplane/schema';
import { setCluster } from '../registry/object-metadata.ts';
import type { ObjectReader } from '../registry/object-reader.ts';
import type { AdmissionAttributes } from './plugin.ts';

const never = new AbortController().signal;

/**
 * The objects of a write in the versions in which webhooks and policies want to see them. Each is made once; a change of the
 * object makes those of the new one anew. All of them say which logical cluster they are of, as what is stored does.
 */
export class RequestObjects {
  readonly #attributes: AdmissionAttributes;
  readonly #reader: ObjectReader;
  readonly #objects = new Map<ResourceDefinition, DeepReadonly<KubeObject>>();
  readonly #oldObjects = new Map<ResourceDefinition, DeepReadonly<KubeObject>>();
  readonly #values = new Map<DeepReadonly<KubeObject>, CelValue>();

  constructor(attributes: AdmissionAttributes, modules: { readonly reader: ObjectReader }) {
    this.#attributes = attributes;
    this.#reader = modules.reader;
    if (attributes.object !== undefined) setCluster(attributes.object.metadata, attributes.cluster);
  }

  async object(definition: ResourceDefinition): Promise<DeepReadonly<KubeObject> | undefined> {
    const { object } = this.#attributes;
    return object === undefined ? undefined : this.#shown(this.#objects, object, definition);
  }

  async oldObject(definition: ResourceDefinition): Promise<DeepReadonly<KubeObject> | undefined> {
    const { oldObject } = this.#attributes;
    return oldObject === undefined ? undefined : this.#shown(this.#oldObjects, oldObject, definition);
  }

  /** The value of an object in expressions. */
  value(object: DeepReadonly<KubeObject> | undefined): CelValue {
    if (object === undefined) return null;
    let value = this.#values.get(object);
    if (value === undefined) {
      value = plainValue(asJson(object as KubeObject));
      this.#values.set(object, value);
    }
    return value;
  }

  /** Puts what was made of the object in a version into its place, in the version of the request. */
  async replace(definition: ResourceDefinition, changed: KubeObject): Promise<void> {
    const { object, definition: own } = this.#attributes;
    if (object === undefined) throw new TypeError('there is no object to change');
    const next = asJson(definition === own ? changed : await this.#converted(changed, definition, own));
    const target = asJson(object);
    for (const key of Object.keys(target)) delete target[key];
    Object.assign(target, next);
    setCluster(object.metadata, this.#attributes.cluster);
    this.#objects.clear();
    this.#values.clear();
  }

  async #shown(
    known: Map<ResourceDefinition, DeepReadonly<KubeObject>>,
    object: DeepReadonly<KubeObject>,
    definition: ResourceDefinition,
  ): Promise<DeepReadonly<KubeObject>> {
    const { definition: own } = this.#attributes;
    if (definition === own) return object;
    let shown = known.get(definition);
    if (shown === undefined) {
      shown = await this.#converted(object as KubeObject, own, definition);
      known.set(definition, shown);
    }
    return shown;
  }

  async #converted(object: KubeObject, from: ResourceDefinition, to: ResourceDefinition): Promise<KubeObject> {
    const signal = this.#attributes.signal ?? never;
    const copy = deepCopy<JsonObject>(asJson(object)) as unknown as KubeObject;
    return this.#reader.toShown(to, await this.#reader.toStored(from, copy, signal), signal);
  }
}
