import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import { keyOf, type ObjectReference } from '@multiplane/client';
import type { UnitedHandlers } from './united-objects.ts';

/** References to the objects of one resource by the uid of their owners. A uid is unique over all logical clusters. */
export class OwnerIndex implements UnitedHandlers<KubeObject> {
  readonly #owned = new Map<string, Map<string, ObjectReference>>();

  changed(
    object: DeepReadonly<KubeObject>,
    old: DeepReadonly<KubeObject> | undefined,
    reference: ObjectReference,
  ): void {
    if (old !== undefined) this.#remove(old, reference);
    const key = keyOf(reference);
    for (const { uid } of object.metadata.ownerReferences ?? []) {
      let owned = this.#owned.get(uid);
      if (owned === undefined) this.#owned.set(uid, (owned = new Map<string, ObjectReference>()));
      owned.set(key, reference);
    }
  }

  deleted(old: DeepReadonly<KubeObject>, reference: ObjectReference): void {
    this.#remove(old, reference);
  }

  forgotten(old: DeepReadonly<KubeObject>, reference: ObjectReference): void {
    this.#remove(old, reference);
  }

  of(uid: string): Iterable<ObjectReference> {
    return this.#owned.get(uid)?.values() ?? [];
  }

  #remove({ metadata }: DeepReadonly<KubeObject>, reference: ObjectReference): void {
    const key = keyOf(reference);
    for (const { uid } of metadata.ownerReferences ?? []) {
      const owned = this.#owned.get(uid);
      owned?.delete(key);
      if (owned?.size === 0) this.#owned.delete(uid);
    }
  }
}
