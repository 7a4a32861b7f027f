import type { GroupVersionResource } from '@multiplane/apimachinery';
import type { InformerSource, ObjectReference } from '@multiplane/client';

interface Watch {
  /** Keys of the APIExports that refer to objects of the kind. */
  readonly users: Set<string>;
  readonly stop: () => void;
}

/**
 * Notices changes of endpoint slices of any kind: one set of informer handlers per kind, however many APIExports and
 * workspaces use it, and none for kinds that no APIExport refers to.
 */
export class SliceWatches {
  readonly #informers: InformerSource;
  readonly #onChange: (reference: ObjectReference) => void;
  readonly #watches = new Map<string, Watch>();

  constructor(modules: {
    readonly informers: InformerSource;
    /** Called for every object of a watched kind, referred to or not. */
    readonly onChange: (reference: ObjectReference) => void;
  }) {
    this.#informers = modules.informers;
    this.#onChange = modules.onChange;
  }

  /** Replaces the kinds that one APIExport refers to. */
  set(user: string, kinds: readonly GroupVersionResource[]): void {
    const wanted = new Map(kinds.map((kind) => [`${kind.group}/${kind.resource}`, kind]));
    for (const [key, kind] of wanted) {
      let watch = this.#watches.get(key);
      if (watch === undefined) this.#watches.set(key, (watch = this.#open(kind)));
      watch.users.add(user);
    }
    for (const [key, { users, stop }] of this.#watches) {
      if (wanted.has(key) || !users.delete(user) || users.size > 0) continue;
      stop();
      this.#watches.delete(key);
    }
  }

  #open({ group, version, resource }: GroupVersionResource): Watch {
    const changed = (reference: ObjectReference): void => this.#onChange(reference);
    const stop = this.#informers.informer({ group, version, resource }).addHandlers({
      added: (_object, reference) => changed(reference),
      updated: (_object, _old, reference) => changed(reference),
      deleted: (_old, reference) => changed(reference),
    });
    return { users: new Set(), stop };
  }
}
