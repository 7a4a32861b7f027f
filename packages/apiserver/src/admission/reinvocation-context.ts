/**
 * The mutating plugins run on a write once, and a second time if one of them requests it because it changed what others
 * have seen (admission.ReinvocationContext in k8s.io/apiserver). State of a plugin between the rounds is kept here.
 */
export class ReinvocationContext {
  /** 0 in the first round, 1 in the reinvocation. */
  round = 0;
  #isRequested = false;
  /** Created lazily: most writes need no state. */
  #states: Map<string, unknown> | undefined;

  /** Requests the reinvocation; there is at most one. */
  requestReinvocation(): void {
    this.#isRequested = true;
  }

  /** Starts the reinvocation if it was requested. */
  startReinvocation(): boolean {
    if (!this.#isRequested || this.round > 0) return false;
    this.round = 1;
    return true;
  }

  /** The state of a plugin for this write. */
  pluginState<T>(plugin: string, make: () => T): T {
    this.#states ??= new Map();
    let state = this.#states.get(plugin) as T | undefined;
    if (state === undefined) {
      state = make();
      this.#states.set(plugin, state);
    }
    return state;
  }
}
