import {
  type DeepReadonly,
  type JsonObject,
  type KubeObject,
  asJson,
  deepCopy,
  isJsonObject,
} from '@multiplane/apimachinery';
import { tokenRequestKind, type ResourceDefinition, type ScaleSubresource } from '@multiplane/apis';
import { RequestWork } from '@multiplane/component-base';
import { plainValue, type CelValue } from '@multiplane/schema';
import { setCluster } from '../write-path/object-metadata.ts';
import type { ObjectReader } from '../registry/store/object-reader.ts';
import { scaleOf, setReplicas } from '../endpoints/scale/scale-object.ts';
import type { AdmissionAttributes } from './plugin.ts';

/**
 * The objects of a write in the versions that webhooks and policies see. Each version is converted once, and again
 * after a change of the object. All of them carry the `kcp.io/cluster` annotation, like stored objects.
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

  /** The object in the version of the definition; for requests to the scale subresource, the Scale. */
  async object(definition: ResourceDefinition): Promise<DeepReadonly<KubeObject> | undefined> {
    const { object } = this.#attributes;
    return object === undefined ? undefined : this.#inVersion(this.#objects, object, definition);
  }

  async oldObject(definition: ResourceDefinition): Promise<DeepReadonly<KubeObject> | undefined> {
    const { oldObject } = this.#attributes;
    return oldObject === undefined ? undefined : this.#inVersion(this.#oldObjects, oldObject, definition);
  }

  /** The CEL value of an object. */
  async value(object: DeepReadonly<KubeObject> | undefined): Promise<CelValue> {
    if (object === undefined) return null;
    let value = this.#values.get(object);
    if (value === undefined) {
      await this.#attributes.work?.pause();
      value = plainValue(asJson(object as KubeObject));
      this.#values.set(object, value);
    }
    return value;
  }

  /** Replaces the object by a changed one in the version of `definition`, converted to the version of the request. */
  async replace(definition: ResourceDefinition, changed: KubeObject): Promise<void> {
    const { object, definition: own } = this.#attributes;
    if (object === undefined) throw new TypeError('the request has no object');
    const scale = scaleOfRequest(this.#attributes, definition);
    if (scale !== undefined) {
      // A Scale only changes the replica count, at the path that the scale subresource of the request's version
      // defines.
      setReplicas(scaleOfRequest(this.#attributes, own) ?? scale, object, changed);
      this.#invalidate();
      return;
    }
    const next = asJson(definition === own ? changed : await this.#convert(changed, definition, own));
    const target = asJson(object);
    for (const key of Object.keys(target)) delete target[key];
    Object.assign(target, next);
    setCluster(object.metadata, this.#attributes.cluster);
    this.#invalidate();
  }

  #scale(subresource: ScaleSubresource, object: DeepReadonly<KubeObject>): KubeObject {
    const scale = scaleOf(subresource, object);
    setCluster(scale.metadata, this.#attributes.cluster);
    return scale;
  }

  #invalidate(): void {
    this.#objects.clear();
    this.#values.clear();
  }

  async #inVersion(
    known: Map<ResourceDefinition, DeepReadonly<KubeObject>>,
    object: DeepReadonly<KubeObject>,
    definition: ResourceDefinition,
  ): Promise<DeepReadonly<KubeObject>> {
    const { definition: own } = this.#attributes;
    const scale = scaleOfRequest(this.#attributes, definition);
    if (definition === own && scale === undefined) return object;
    let versioned = known.get(definition);
    if (versioned === undefined) {
      const converted = definition === own ? object : await this.#convert(object as KubeObject, own, definition);
      versioned = scale === undefined ? converted : this.#scale(scale, converted);
      known.set(definition, versioned);
    }
    return versioned;
  }

  async #convert(object: KubeObject, from: ResourceDefinition, to: ResourceDefinition): Promise<KubeObject> {
    const { work = new RequestWork() } = this.#attributes;
    await work.pause();
    const copy = deepCopy<JsonObject>(asJson(object)) as unknown as KubeObject;
    return this.#reader.toShown(to, await this.#reader.toStored(from, copy, work), work);
  }
}

/** The scale subresource of the request; undefined for requests to the object or another subresource. */
export function scaleOfRequest(
  { subresource }: Pick<AdmissionAttributes, 'subresource'>,
  { subresources }: ResourceDefinition,
): ScaleSubresource | undefined {
  const part = Object.hasOwn(subresources, subresource) ? subresources[subresource] : undefined;
  return part?.type === 'scale' ? part : undefined;
}

/** The kind of the object in a request. */
export type RequestKind = Pick<ResourceDefinition, 'group' | 'version' | 'kind' | 'origin' | 'schema'>;

/** The kind of the object in a request: of the resource, or of a create-only subresource (TokenRequest). */
export function kindOfRequest(
  { subresource }: Pick<AdmissionAttributes, 'subresource'>,
  definition: ResourceDefinition,
): RequestKind {
  const { subresources } = definition;
  const part = Object.hasOwn(subresources, subresource) ? subresources[subresource] : undefined;
  return part?.type === 'connect' ? tokenRequestKind : definition;
}

/** Throws unless a changed Scale has a valid replica count. */
export function checkScale(scale: JsonObject): void {
  const { spec } = scale;
  const replicas = isJsonObject(spec) ? spec['replicas'] : undefined;
  if (replicas !== undefined && !(typeof replicas === 'number' && Number.isInteger(replicas) && replicas >= 0))
    throw new TypeError('spec.replicas must be a number of replicas');
}
