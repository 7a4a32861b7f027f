import type { LogicalClusterName } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';

interface Listener {
  readonly definition: ResourceDefinition;
  readonly onReplaced: () => void;
}

/** Callbacks of watches that end when their logical cluster serves the resource by another definition, or not at all. */
export class ReplacementListeners {
  readonly #isStillServed: (cluster: LogicalClusterName, definition: ResourceDefinition) => boolean;
  readonly #listeners = new Map<LogicalClusterName, Set<Listener>>();

  constructor(modules: {
    readonly isStillServed: (cluster: LogicalClusterName, definition: ResourceDefinition) => boolean;
  }) {
    this.#isStillServed = modules.isStillServed;
  }

  /** Calls back once; immediately if the definition was replaced already. Returns a function that cancels the callback. */
  add(cluster: LogicalClusterName, definition: ResourceDefinition, onReplaced: () => void): () => void {
    if (!this.#isStillServed(cluster, definition)) {
      onReplaced();
      return () => undefined;
    }
    const listener: Listener = { definition, onReplaced };
    let listeners = this.#listeners.get(cluster);
    if (listeners === undefined) this.#listeners.set(cluster, (listeners = new Set()));
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(cluster) === listeners) this.#listeners.delete(cluster);
    };
  }

  /** Checks the listeners of a logical cluster after a change of its definitions. */
  check(cluster: LogicalClusterName): void {
    for (const listener of Array.from(this.#listeners.get(cluster) ?? [])) {
      if (this.#isStillServed(cluster, listener.definition)) continue;
      this.#listeners.get(cluster)?.delete(listener);
      listener.onReplaced();
    }
    if (this.#listeners.get(cluster)?.size === 0) this.#listeners.delete(cluster);
  }

  checkAll(): void {
    for (const cluster of Array.from(this.#listeners.keys())) this.check(cluster);
  }
}
