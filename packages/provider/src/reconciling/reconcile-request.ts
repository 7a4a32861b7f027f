import {
  applyMergePatch,
  deepEqual,
  type DeepReadonly,
  type GroupVersionResource,
  type Json,
  type JsonObject,
  type KubeObject,
  type OwnerReference,
} from '@multiplane/apimachinery';
import { EventRecorder, type NewEvent, type ObjectReference, resourceText } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import { ConsumerClient } from '../consumer-client.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';

export type StatusOf<T> = T extends { status?: infer S } ? Partial<NonNullable<S>> : JsonObject;

export interface ReconcileRequestOptions<T extends KubeObject> {
  readonly resource: GroupVersionResource;
  readonly reference: ObjectReference;
  readonly object: DeepReadonly<T>;
  readonly fieldManager: string;
  readonly signal: AbortSignal;
}

export interface ReconcileRequestModules {
  readonly endpoint: Endpoint;
  readonly clock: Clock;
  /** The cached objects of a resource that the object owns. Throws for a resource that is not named with `owns`. */
  readonly ownedBy: (uid: string, resource: string) => DeepReadonly<KubeObject>[];
}

/** One pass: an object as the cache has it, and what may be done about it at the endpoint where it is. */
export class ReconcileRequest<T extends KubeObject = KubeObject> implements ObjectReference {
  /** The object, frozen. It may be older than the last write of this process. */
  readonly object: DeepReadonly<T>;
  /** Aborts when the provider stops or is no longer the leader: writes of this pass may come too late then. */
  readonly signal: AbortSignal;
  /** Objects of this consumer. */
  readonly client: ConsumerClient;
  readonly #options: ReconcileRequestOptions<T>;
  readonly #modules: ReconcileRequestModules;

  constructor(options: ReconcileRequestOptions<T>, modules: ReconcileRequestModules) {
    this.#options = options;
    this.#modules = modules;
    this.object = options.object;
    this.signal = options.signal;
    this.client = new ConsumerClient(
      { cluster: options.reference.cluster, fieldManager: options.fieldManager },
      { client: modules.endpoint.client },
    );
  }

  /** The logical cluster of the consumer. */
  get cluster(): ObjectReference['cluster'] {
    return this.#options.reference.cluster;
  }

  /** Empty for a cluster-scoped object. */
  get namespace(): string {
    return this.#options.reference.namespace;
  }

  get name(): string {
    return this.#options.reference.name;
  }

  /** The URL of the endpoint where the object is. */
  get endpoint(): string {
    return this.#modules.endpoint.url;
  }

  /** Merges into the status (RFC 7386). Sends nothing when the status in the cache has these values already. */
  async patchStatus(status: StatusOf<T>): Promise<void> {
    const before = ((this.object as { readonly status?: Json }).status ?? {}) as Json;
    if (deepEqual(applyMergePatch(structuredClone(before), status), before)) return;
    const patch = { status: status as Json };
    await this.client.patch(this.#resource, this.reference, patch, { subresource: 'status' });
  }

  /** Adds a finalizer. A concurrent change of the object is a conflict (409), after which the object is reconciled again. */
  async addFinalizer(name: string): Promise<void> {
    const finalizers = this.object.metadata.finalizers ?? [];
    if (!finalizers.includes(name)) await this.#setFinalizers([...finalizers, name]);
  }

  /** Removes a finalizer; the counterpart of {@link addFinalizer}. */
  async removeFinalizer(name: string): Promise<void> {
    const finalizers = this.object.metadata.finalizers ?? [];
    if (finalizers.includes(name)) await this.#setFinalizers(finalizers.filter((one) => one !== name));
  }

  /** For `metadata.ownerReferences` of an object in the same namespace, which is deleted with this one. */
  ownerReference(): OwnerReference {
    const { apiVersion, kind, metadata } = this.object as unknown as KubeObject;
    const { name = '', uid = '' } = metadata;
    return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
  }

  /** Cached objects of a resource, named with `owns` before, that have this object as an owner. */
  owned<O extends KubeObject>(resource: string): DeepReadonly<O>[] {
    const { uid } = (this.object as unknown as KubeObject).metadata;
    return uid === undefined ? [] : (this.#modules.ownedBy(uid, resource) as unknown as DeepReadonly<O>[]);
  }

  /**
   * Records an event about the object in the workspace of the consumer; a repeated one raises its count. The export must claim
   * events: a consumer who does not accept that gets none.
   */
  async event(event: NewEvent): Promise<void> {
    const { endpoint, clock } = this.#modules;
    const recorder = new EventRecorder(
      { component: this.#options.fieldManager, counts: true },
      { client: endpoint.client, clock },
    );
    const { apiVersion, kind, metadata } = this.object as unknown as KubeObject;
    await recorder.record({ ...this.reference, apiVersion, kind, uid: metadata.uid ?? '' }, event);
  }

  get reference(): ObjectReference {
    return this.#options.reference;
  }

  get #resource(): string {
    return resourceText(this.#options.resource);
  }

  async #setFinalizers(finalizers: readonly string[]): Promise<void> {
    const { resourceVersion } = (this.object as unknown as KubeObject).metadata;
    const metadata: JsonObject = { finalizers: [...finalizers] };
    if (resourceVersion !== undefined) metadata['resourceVersion'] = resourceVersion;
    await this.client.patch(this.#resource, this.reference, { metadata });
  }
}
