import type { JsonObject, KubeList, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import {
  type NewObject,
  type DeleteRequestOptions,
  type ObjectClient,
  type PatchType,
  parseResource,
} from '@multiplane/client';

/** An object of the consumer; `namespace` is absent for cluster-scoped kinds. */
export interface ObjectName {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/**
 * Reads and writes objects of one consumer: those of the API, and those that the export claims and the consumer accepts.
 * Resources are named `<group>/<version>/<resource>`. Failures are `StatusError`s; 403 says that the consumer has not accepted
 * the claim.
 */
export class ConsumerClient {
  readonly #cluster: LogicalClusterName;
  readonly #fieldManager: string;
  readonly #client: ObjectClient;

  constructor(
    options: { readonly cluster: LogicalClusterName; readonly fieldManager: string },
    modules: { readonly client: ObjectClient },
  ) {
    this.#cluster = options.cluster;
    this.#fieldManager = options.fieldManager;
    this.#client = modules.client;
  }

  async get<T extends KubeObject>(resource: string, name: ObjectName): Promise<T> {
    return (await this.#client.get(parseResource(resource), this.#at(name))) as T;
  }

  async list<T extends KubeObject>(
    resource: string,
    scope: { readonly namespace?: string | undefined; readonly labelSelector?: string | undefined } = {},
  ): Promise<KubeList & { items: T[] }> {
    const list = await this.#client.list(parseResource(resource), { ...scope, cluster: this.#cluster });
    return list as KubeList & { items: T[] };
  }

  async create<T extends KubeObject>(resource: string, object: NewObject<T>): Promise<T> {
    const { resource: parsed, options } = this.#write(resource);
    return (await this.#client.create(parsed, this.#cluster, object, options)) as T;
  }

  /** Replaces an object. With a `resourceVersion`, a concurrent change is a conflict (409). */
  async update<T extends KubeObject>(resource: string, object: NewObject<T>): Promise<T> {
    const { resource: parsed, options } = this.#write(resource);
    return (await this.#client.update(parsed, this.#cluster, object, options)) as T;
  }

  /** A merge patch (RFC 7386) unless another type is given. */
  async patch<T extends KubeObject>(
    resource: string,
    name: ObjectName,
    patch: JsonObject | JsonObject[],
    { type = 'application/merge-patch+json', subresource }: { type?: PatchType; subresource?: string } = {},
  ): Promise<T> {
    const { resource: parsed, options } = this.#write(resource);
    return (await this.#client.patch(parsed, this.#at(name), type, patch, { ...options, subresource })) as T;
  }

  /**
   * Server-side apply: creates the object, or makes its fields those of `object`; fields that were applied before and are absent
   * now are removed. `force` takes fields over from other field managers.
   */
  async apply<T extends KubeObject>(
    resource: string,
    object: NewObject<T>,
    { force = false, subresource }: { force?: boolean; subresource?: string } = {},
  ): Promise<T> {
    const { resource: parsed, options } = this.#write(resource);
    const { name = '', namespace } = object.metadata;
    const patch = object as unknown as JsonObject;
    const at = this.#at({ name, namespace });
    return (await this.#client.patch(parsed, at, 'application/apply-patch+yaml', patch, {
      ...options,
      subresource,
      force,
    })) as T;
  }

  async delete(resource: string, name: ObjectName, options?: DeleteRequestOptions): Promise<void> {
    await this.#client.delete(parseResource(resource), this.#at(name), options);
  }

  #at({ namespace = '', name }: ObjectName): { cluster: LogicalClusterName; namespace: string; name: string } {
    return { cluster: this.#cluster, namespace, name };
  }

  #write(resource: string): { resource: ReturnType<typeof parseResource>; options: { fieldManager: string } } {
    return { resource: parseResource(resource), options: { fieldManager: this.#fieldManager } };
  }
}
