import type { SubscribeOptions } from '../watch-cache-interface.ts';
import type { CachedEvent } from './cached-event.ts';

/** One subscriber. `active` is false from the moment it ended: nothing more is called then. */
export class Subscription {
  readonly options: SubscribeOptions;
  /** Events before this one were replayed, or are no business of this subscriber. */
  readonly from: number;
  active = true;

  constructor(options: SubscribeOptions, from: number) {
    this.options = options;
    this.from = from;
  }
}

/**
 * Finds the subscribers of an event by the prefixes of its key: one look-up for each depth at which anybody has
 * subscribed, however many subscriptions there are elsewhere.
 *
 * Subscribers come and go while an event is handed out, also by what a handler does. A Set's iteration shows members
 * that are added on the way and skips those that are removed; `from` keeps the former from seeing an event twice.
 */
export class SubscriptionIndex {
  readonly #scopes = new Map<string, Set<Subscription>>();
  /** `#depths[n]`: scopes that are prefixes with n slashes. */
  readonly #depths: number[] = [];
  readonly #onFailure: (subscription: Subscription, error: unknown) => void;
  #size = 0;

  constructor(onFailure: (subscription: Subscription, error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  get size(): number {
    return this.#size;
  }

  add(subscription: Subscription): void {
    const { scope } = subscription.options;
    const members = this.#scopes.get(scope);
    this.#size++;
    if (members !== undefined) {
      members.add(subscription);
      return;
    }
    this.#scopes.set(scope, new Set([subscription]));
    this.#count(scope, 1);
  }

  /** O(1). Does nothing when the subscription has ended. */
  remove(subscription: Subscription): void {
    if (!subscription.active) return;
    subscription.active = false;
    const { scope } = subscription.options;
    const members = this.#scopes.get(scope);
    if (members?.delete(subscription) !== true) return;
    this.#size--;
    if (members.size > 0) return;
    this.#scopes.delete(scope);
    this.#count(scope, -1);
  }

  dispatch(event: CachedEvent): void {
    if (this.#size === 0) return;
    const { key } = event;
    this.#deliverAll(this.#scopes.get(key), event);
    if ((this.#depths[0] ?? 0) > 0) this.#deliverAll(this.#scopes.get(''), event);
    let depth = 1;
    for (let slash = key.indexOf('/'); slash >= 0; slash = key.indexOf('/', slash + 1)) {
      if ((this.#depths[depth] ?? 0) > 0) this.#deliverAll(this.#scopes.get(key.slice(0, slash + 1)), event);
      depth++;
    }
  }

  /** Takes everybody out and returns them. */
  clear(): Subscription[] {
    const all: Subscription[] = [];
    for (const members of this.#scopes.values()) for (const subscription of members) all.push(subscription);
    for (const subscription of all) this.remove(subscription);
    return all;
  }

  /** Hands one event to one subscriber; a handler that throws ends only its own subscription. */
  deliver(subscription: Subscription, event: CachedEvent): void {
    try {
      subscription.options.onEvent(event);
    } catch (error) {
      this.remove(subscription);
      this.#onFailure(subscription, error);
    }
  }

  #deliverAll(members: Set<Subscription> | undefined, event: CachedEvent): void {
    if (members === undefined) return;
    for (const subscription of members) {
      // `after` may lie in the future: such a subscriber waits in silence (K3.4).
      if (event.sequence < subscription.from || event.revision <= subscription.options.after) continue;
      this.deliver(subscription, event);
    }
  }

  #count(scope: string, change: number): void {
    if (scope !== '' && !scope.endsWith('/')) return;
    const depth = scope.split('/').length - 1;
    while (this.#depths.length <= depth) this.#depths.push(0);
    this.#depths[depth] = (this.#depths[depth] as number) + change;
  }
}
