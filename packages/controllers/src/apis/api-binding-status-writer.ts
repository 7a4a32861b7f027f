import {
  deepEqual,
  type DeepReadonly,
  type Json,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { apiBindings, type APIBinding } from '@multiplane/apis';
import type { ObjectClient, ObjectReference } from '@multiplane/client';
import { keyOf } from '../runtime/object-key.ts';
import { withChanges } from '../runtime/object-writes.ts';
import type { APIBindingStatus } from './api-binding-status.ts';

interface OwnWrite {
  /** The resourceVersion that was replaced. */
  readonly replaced: string | undefined;
  readonly status: Json;
}

export interface APIBindingStatusWriterModules {
  readonly client: ObjectClient;
  /** Writes a binding and its status in one request. */
  readonly updateWithStatus: (cluster: LogicalClusterName, binding: KubeObject) => Promise<unknown>;
}

/** Writes statuses of APIBindings and recognizes the events of its own writes, which need no reconcile. */
export class APIBindingStatusWriter {
  readonly #modules: APIBindingStatusWriterModules;
  /** By binding; from before the request, because the event may arrive before the response. */
  readonly #writes = new Map<string, OwnWrite>();

  constructor(modules: APIBindingStatusWriterModules) {
    this.#modules = modules;
  }

  /** Writes nothing if the status is unchanged. */
  async write(binding: DeepReadonly<APIBinding>, reference: ObjectReference, value: APIBindingStatus): Promise<void> {
    const status = value as unknown as JsonObject;
    if (deepEqual(binding.status ?? {}, status)) return;
    const { client, updateWithStatus } = this.#modules;
    const { cluster } = reference;
    const changed = withChanges(binding, { status });
    this.#writes.set(keyOf(reference), { replaced: binding.metadata.resourceVersion, status });
    try {
      // The first write as Bound includes the metadata: admission adds the label by which the provider sees the binding.
      if (value.phase === 'Bound' && binding.status?.phase !== 'Bound') await updateWithStatus(cluster, changed);
      else await client.update(apiBindings, cluster, changed, { subresource: 'status' });
    } catch (error) {
      this.#writes.delete(keyOf(reference));
      throw error;
    }
  }

  /** Whether an update event shows one of these writes and no other change. Each write is recognized once. */
  isOwnWrite(binding: DeepReadonly<APIBinding>, old: DeepReadonly<APIBinding>, reference: ObjectReference): boolean {
    const key = keyOf(reference);
    const write = this.#writes.get(key);
    if (write === undefined || write.replaced !== old.metadata.resourceVersion) return false;
    this.#writes.delete(key);
    return (
      binding.metadata.deletionTimestamp === old.metadata.deletionTimestamp &&
      deepEqual(binding.status ?? {}, write.status) &&
      deepEqual(binding.spec ?? {}, old.spec ?? {})
    );
  }

  forget(reference: ObjectReference): void {
    this.#writes.delete(keyOf(reference));
  }
}
