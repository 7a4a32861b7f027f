import type { GroupVersionResource, KubeObject } from '@multiplane/apimachinery';
import { type ObjectReference, parseResource } from '@multiplane/client';
import type { Reconcile, ReconcilerOptions } from './reconciling/resource-reconciler.ts';

/** Passes at the same time; they mostly wait for responses. */
const defaultConcurrency = 16;

export type ResourceSettings<T extends KubeObject> = Omit<ReconcilerOptions<T>, 'fieldManager' | 'graceMs'>;

/** What is to be done about the objects of a resource; {@link reconcile} completes it and returns the provider. */
export class ResourceBuilder<T extends KubeObject, P> {
  readonly #resource: GroupVersionResource;
  readonly #complete: (settings: ResourceSettings<T>) => P;
  readonly #owned: string[] = [];
  #concurrency = defaultConcurrency;
  #finalizer: ResourceSettings<T>['finalizer'];
  #gone: ResourceSettings<T>['gone'];

  constructor(resource: GroupVersionResource, complete: (settings: ResourceSettings<T>) => P) {
    this.#resource = resource;
    this.#complete = complete;
  }

  /** Follows a resource that the export claims or has: a change of an object reconciles its owners. */
  owns(resource: string): this {
    parseResource(resource);
    this.#owned.push(resource);
    return this;
  }

  /** How many objects are reconciled at the same time; 16 by default. One object never is twice at the same time. */
  concurrency(passes: number): this {
    if (!Number.isInteger(passes) || passes < 1) throw new RangeError(`invalid concurrency ${passes}: at least 1`);
    this.#concurrency = passes;
    return this;
  }

  /**
   * Puts a finalizer on every object before its first pass. `release` is called instead of the reconciler while the object is
   * being deleted or waits for its transfer to another scope; when it resolves without a number, the finalizer is removed.
   */
  finalizer(name: string, release: Reconcile<T>): this {
    this.#finalizer = { name, release };
    return this;
  }

  /**
   * Called when no endpoint has the object any more. Best effort: what happens while no provider runs, or with an endpoint that
   * is removed, is not reported. What must happen is done by a finalizer.
   */
  gone(handle: (reference: ObjectReference) => Promise<void>): this {
    this.#gone = handle;
    return this;
  }

  reconcile(reconcile: Reconcile<T>): P {
    return this.#complete({
      resource: this.#resource,
      owned: this.#owned,
      concurrency: this.#concurrency,
      finalizer: this.#finalizer,
      gone: this.#gone,
      reconcile,
    });
  }
}
