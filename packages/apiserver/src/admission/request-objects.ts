import {
  type DeepReadonly,
  type JsonObject,
  type KubeObject,
  asJson,
  deepCopy,
  isJsonObject,
} from '@multiplane/apimachinery';
import { tokenRequestKind, type ResourceDefinition, type ScaleSubresource } from '@multiplane/apis';
import { plainValue, type CelValue } from '@multiplane/schema';
import { setCluster } from '../registry/object-metadata.ts';
import type { ObjectReader } from '../registry/object-reader.ts';
import { scaleOf, setReplicas } from '../registry/scale-view.ts';
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

  /** In the version of the definition; of a request for its scale, the Scale. */
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
    const scale = scaleOfRequest(this.#attributes, definition);
    if (scale !== undefined) {
      // Replicas are all that a Scale can change; where they lie in the version of the request its own scale says.
      setReplicas(scaleOfRequest(this.#attributes, own) ?? scale, object, changed);
      this.#forget();
      return;
    }
    const next = asJson(definition === own ? changed : await this.#converted(changed, definition, own));
    const target = asJson(object);
    for (const key of Object.keys(target)) delete target[key];
    Object.assign(target, next);
    setCluster(object.metadata, this.#attributes.cluster);
    this.#forget();
  }

  #scale(part: ScaleSubresource, object: DeepReadonly<KubeObject>): KubeObject {
    const scale = scaleOf(part, object);
    setCluster(scale.metadata, this.#attributes.cluster);
    return scale;
  }

  #forget(): void {
    this.#objects.clear();
    this.#values.clear();
  }

  async #shown(
    known: Map<ResourceDefinition, DeepReadonly<KubeObject>>,
    object: DeepReadonly<KubeObject>,
    definition: ResourceDefinition,
  ): Promise<DeepReadonly<KubeObject>> {
    const { definition: own } = this.#attributes;
    const scale = scaleOfRequest(this.#attributes, definition);
    if (definition === own && scale === undefined) return object;
    let shown = known.get(definition);
    if (shown === undefined) {
      const converted = definition === own ? object : await this.#converted(object as KubeObject, own, definition);
      shown = scale === undefined ? converted : this.#scale(scale, converted);
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

/** The scale that a request is for; undefined: it is for the object, or another part of it. */
export function scaleOfRequest(
  { subresource }: Pick<AdmissionAttributes, 'subresource'>,
  { subresources }: ResourceDefinition,
): ScaleSubresource | undefined {
  const part = Object.hasOwn(subresources, subresource) ? subresources[subresource] : undefined;
  return part?.type === 'scale' ? part : undefined;
}

/** What a write brings, as far as its shape goes. */
export type RequestKind = Pick<ResourceDefinition, 'group' | 'version' | 'kind' | 'origin' | 'schema'>;

/** The kind of what a request brings: of the resource, or what is created at a subresource that only creates (K6.1). */
export function kindOfRequest(
  { subresource }: Pick<AdmissionAttributes, 'subresource'>,
  definition: ResourceDefinition,
): RequestKind {
  const { subresources } = definition;
  const part = Object.hasOwn(subresources, subresource) ? subresources[subresource] : undefined;
  return part?.type === 'connect' ? tokenRequestKind : definition;
}

/** A Scale that was changed must still say how many replicas are wanted. */
export function checkScale(scale: JsonObject): void {
  const { spec } = scale;
  const replicas = isJsonObject(spec) ? spec['replicas'] : undefined;
  if (replicas !== undefined && !(typeof replicas === 'number' && Number.isInteger(replicas) && replicas >= 0))
    throw new TypeError('spec.replicas must be a number of replicas');
}
