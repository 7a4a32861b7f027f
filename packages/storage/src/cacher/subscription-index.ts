import type { SubscribeOptions } from '../watch-cache-interface.ts';
import type { CachedEvent } from './cached-event.ts';

/** One subscriber. After `active` became false none of its callbacks is called. */
export class Subscription {
  readonly options: SubscribeOptions;
  /** Sequence number of the first event to dispatch; earlier events were replayed or are not requested. */
  readonly from: number;
  active = true;
  /** Where it is registered. */
  home: SubscriptionIndex | undefined = undefined;

  constructor(options: SubscribeOptions, from: number) {
    this.options = options;
    this.from = from;
  }
}

/**
 * Finds the subscribers of an event by the prefixes of its key: one map lookup for each depth that has subscriptions,
 * independent of the number of subscriptions to other scopes.
 *
 * Handlers may subscribe and unsubscribe while an event is dispatched. Iterating a Set visits members that are added
 * meanwhile and skips removed ones; `from` keeps the former from receiving an event twice.
 */
export class SubscriptionIndex {
  readonly #scopes = new Map<string, Set<Subscription>>();
  /** `#depths[n]`: number of prefix scopes with n slashes. */
  readonly #depths: number[] = [];
  readonly #onFailure: (subscription: Subscription, error: unknown) => void;
  readonly #onEmpty: (() => void) | undefined;
  #size = 0;

  /** `onEmpty` is called when the last subscription is removed. */
  constructor(onFailure: (subscription: Subscription, error: unknown) => void, onEmpty?: () => void) {
    this.#onFailure = onFailure;
    this.#onEmpty = onEmpty;
  }

  get size(): number {
    return this.#size;
  }

  add(subscription: Subscription): void {
    const { scope } = subscription.options;
    const members = this.#scopes.get(scope);
    subscription.home = this;
    this.#size++;
    if (members !== undefined) {
      members.add(subscription);
      return;
    }
    this.#scopes.set(scope, new Set([subscription]));
    this.#count(scope, 1);
  }

  /** O(1); no effect on a subscription that has ended. */
  remove(subscription: Subscription): void {
    if (!subscription.active) return;
    subscription.active = false;
    this.#delete(subscription);
  }

  /** Removes and returns the subscriptions that match, without ending them. */
  take(matches: (options: SubscribeOptions) => boolean): Subscription[] {
    const taken: Subscription[] = [];
    for (const members of this.#scopes.values())
      for (const subscription of members) if (matches(subscription.options)) taken.push(subscription);
    for (const subscription of taken) this.#delete(subscription);
    return taken;
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

  /** Removes and returns all subscriptions. */
  clear(): Subscription[] {
    const all = this.take(() => true);
    for (const subscription of all) subscription.active = false;
    return all;
  }

  /** Calls the handler of one subscriber; a handler that throws ends only its own subscription. */
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
      // `after` may be a future revision: the subscriber then receives nothing until it is reached, as in Kubernetes.
      if (event.sequence < subscription.from || event.revision <= subscription.options.after) continue;
      this.deliver(subscription, event);
    }
  }

  #delete(subscription: Subscription): void {
    const { scope } = subscription.options;
    const members = this.#scopes.get(scope);
    if (members?.delete(subscription) !== true) return;
    this.#size--;
    if (members.size === 0) {
      this.#scopes.delete(scope);
      this.#count(scope, -1);
    }
    if (this.#size === 0) this.#onEmpty?.();
  }

  #count(scope: string, change: number): void {
    if (scope !== '' && !scope.endsWith('/')) return;
    const depth = scope.split('/').length - 1;
    while (this.#depths.length <= depth) this.#depths.push(0);
    this.#depths[depth] = (this.#depths[depth] as number) + change;
  }
}
