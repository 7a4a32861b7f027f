import type { DeepReadonly, GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { Informer, InformerHandlers, InformerSource, ObjectReference } from '../lister.ts';

/**
 * Informers for those who decide by what they know: nobody may ask them before they know all that was there.
 *
 *   asked for an informer    it counts until it is synced
 *   handlers added           they count until they were told of everything; not those that only forget
 *   complete()               all readers are made: whoever comes later is not waited for
 *
 * Readers are counted by being given these informers and no others, so none can be left out.
 */
export class AwaitedInformers implements InformerSource {
  readonly #source: InformerSource;
  readonly #informers = new Map<string, Informer>();
  /** What does not know everything yet, by the resource that it reads. */
  readonly #waiting = new Map<object, string>();
  readonly #told = Promise.withResolvers<void>();
  /** Resolves when every reader knows all that was there; not before {@link complete}. */
  readonly told: Promise<void> = this.#told.promise;
  #isComplete = false;

  constructor(modules: { readonly source: InformerSource }) {
    this.#source = modules.source;
  }

  informer<T extends KubeObject = KubeObject>(resource: GroupVersionResource): Informer<T> {
    const name = resource.group === '' ? resource.resource : `${resource.resource}.${resource.group}`;
    const key = `${resource.version}/${name}`;
    let informer = this.#informers.get(key);
    if (informer === undefined) {
      const inner = this.#source.informer(resource);
      informer = new AwaitedInformer(inner, () => this.#expect(name));
      this.#informers.set(key, informer);
      // What an informer fails with is for its owner to tell; here it never is synced.
      inner.synced.then(this.#expect(name), () => undefined);
    }
    return informer as unknown as Informer<T>;
  }

  /** No further reader counts. */
  complete(): void {
    this.#isComplete = true;
    this.#tell();
  }

  /** Whether {@link told} has resolved. */
  get isTold(): boolean {
    return this.#isComplete && this.#waiting.size === 0;
  }

  /** For readiness: throws which resources are not known yet. */
  check(): void {
    if (!this.isTold) throw new Error(`not everything is known of ${[...new Set(this.#waiting.values())].join(', ')}`);
  }

  #expect(name: string): () => void {
    if (this.#isComplete) return () => undefined;
    const reader = {};
    this.#waiting.set(reader, name);
    return () => {
      this.#waiting.delete(reader);
      this.#tell();
    };
  }

  #tell(): void {
    if (this.isTold) this.#told.resolve();
  }
}

class AwaitedInformer implements Informer {
  readonly #inner: Informer;
  readonly #expect: () => () => void;

  constructor(inner: Informer, expect: () => () => void) {
    this.#inner = inner;
    this.#expect = expect;
  }

  get synced(): Promise<void> {
    return this.#inner.synced;
  }

  get(reference: ObjectReference): DeepReadonly<KubeObject> | undefined {
    return this.#inner.get(reference);
  }

  list(scope?: {
    readonly cluster?: LogicalClusterName | undefined;
    readonly namespace?: string | undefined;
  }): DeepReadonly<KubeObject>[] {
    return this.#inner.list(scope);
  }

  addHandlers(handlers: InformerHandlers): () => void {
    if (handlers.onlyForgets === true) return this.#inner.addHandlers(handlers);
    const done = this.#expect();
    const stop = this.#inner.addHandlers({
      ...handlers,
      synced: () => {
        handlers.synced?.();
        done();
      },
    });
    return () => {
      stop();
      done();
    };
  }
}
