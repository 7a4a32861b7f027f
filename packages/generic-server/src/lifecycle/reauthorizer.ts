import { mapConcurrently } from '@multiplane/apimachinery';
import { timeSlices, type Clock, type Timer } from '@multiplane/component-base';
import type { MaybePromise } from '../authentication/authenticator.ts';
import type { Precondition } from './precondition.ts';

/** A long-running request as the reauthorizer sees it. */
export interface ReauthorizedRequest {
  readonly info: { readonly cluster?: string | undefined };
  /** Filled while the request passes the handler chain. */
  readonly preconditions?: readonly Precondition[] | undefined;
  /** Ends the request with a complete response. */
  cancel(reason: Error): void;
}

export interface ReauthorizerOptions {
  /** Between the end of a round over all requests and the next one. */
  readonly intervalMs: number;
  /** Between a change of permissions and the round over the requests of its logical cluster; collects further changes. */
  readonly changeDelayMs: number;
}

/** Permissions end at most ten seconds after their removal, with the caches of virtual workspaces on other machines included. */
export const defaultReauthorizerOptions: ReauthorizerOptions = { intervalMs: 4_000, changeDelayMs: 250 };

/** Evaluations in flight; those of webhooks and of other servers take time. */
const concurrency = 32;
/** Rounds take at most this part of the time: a tenant that changes its roles without end cannot occupy the server with them. */
const maxLoad = 1 / 10;

/** The abort reason of a request whose caller lost its credential or permission. */
export class NoLongerAuthorizedError extends Error {
  override readonly name = 'NoLongerAuthorizedError';
  constructor(kind: Precondition['kind']) {
    super(kind === 'credential' ? 'the credential is no longer valid' : 'the request is no longer allowed');
  }
}

/**
 * Ends long-running requests whose caller may not make them any more. Kubernetes and kcp authorize a watch once, when it starts,
 * so that it delivers objects for up to an hour after the last permission was removed.
 *
 *   1. The filters append to the `preconditions` of a long-running request what they admitted it for: its credential, the
 *      impersonation, the permission. Other requests have no such list.
 *   2. A round evaluates the preconditions of all requests. Those with one key (user, verb, path, selectors) are evaluated once,
 *      so 10,000 watches of one user on one resource cost one decision.
 *   3. A round over all requests follows {@link ReauthorizerOptions.intervalMs} after the one before, for everything that no
 *      event reports here: expired certificates and tokens, deleted accounts, policies in other logical clusters.
 *   4. {@link permissionsChanged} starts a round over the permissions in one logical cluster.
 *
 * The server has one timer for all requests, and none without requests. Rounds run one after the other, in time slices.
 */
export class Reauthorizer {
  readonly #options: ReauthorizerOptions;
  readonly #clock: Clock;
  readonly #requests = new Map<string, Set<ReauthorizedRequest>>();
  readonly #changed = new Set<string>();
  #timer: Timer | undefined;
  /** When the timer fires, and when the next round over all requests is due; monotonic. */
  #firesAt = 0;
  #fullAt = 0;
  #earliest = 0;
  #running: Promise<void> | undefined;

  constructor(options: ReauthorizerOptions, modules: { readonly clock: Clock }) {
    this.#options = options;
    this.#clock = modules.clock;
  }

  /** The result removes the request. */
  register(request: ReauthorizedRequest): () => void {
    const { cluster = '' } = request.info;
    const isFirst = this.#requests.size === 0;
    const ofCluster = this.#requests.get(cluster) ?? new Set();
    this.#requests.set(cluster, ofCluster.add(request));
    if (isFirst) {
      this.#fullAt = this.#clock.monotonic() + this.#options.intervalMs;
      this.#arm(this.#fullAt);
    }
    return () => {
      if (ofCluster.delete(request) && ofCluster.size === 0) this.#requests.delete(cluster);
      if (this.#requests.size > 0) return;
      this.#changed.clear();
      this.#timer?.cancel();
      this.#timer = undefined;
    };
  }

  /** Roles or bindings of a logical cluster changed. */
  readonly permissionsChanged = (cluster: string): void => {
    if (!this.#requests.has(cluster)) return;
    this.#changed.add(cluster);
    this.#arm(this.#clock.monotonic() + this.#options.changeDelayMs);
  };

  /** Fires at `time` at the latest, but not before rounds may take time again. */
  #arm(time: number): void {
    const at = Math.max(time, this.#earliest);
    if (this.#running !== undefined || (this.#timer !== undefined && this.#firesAt <= at)) return;
    this.#timer?.cancel();
    this.#firesAt = at;
    this.#timer = this.#clock.after(Math.max(0, at - this.#clock.monotonic()), () => {
      this.#timer = undefined;
      this.#running = this.#round().finally(() => {
        this.#running = undefined;
        if (this.#requests.size > 0) this.#arm(this.#changed.size > 0 ? this.#clock.monotonic() : this.#fullAt);
      });
    });
  }

  async #round(): Promise<void> {
    const startedAt = this.#clock.monotonic();
    const isFull = startedAt >= this.#fullAt;
    const clusters = isFull ? [...this.#requests.keys()] : [...this.#changed];
    this.#changed.clear();
    const requests = clusters.flatMap((cluster) => [...(this.#requests.get(cluster) ?? [])]);
    const results = new Map<string, MaybePromise<boolean>>();
    const slices = timeSlices();
    await mapConcurrently(requests, concurrency, async (request) => {
      if (slices.isExceeded) await slices.yield();
      for (const precondition of request.preconditions ?? []) {
        if (!isFull && precondition.kind === 'credential') continue;
        if (await evaluate(precondition, results)) continue;
        request.cancel(new NoLongerAuthorizedError(precondition.kind));
        return;
      }
    });
    const now = this.#clock.monotonic();
    this.#earliest = now + (now - startedAt) / maxLoad;
    if (isFull) this.#fullAt = now + this.#options.intervalMs;
  }
}

function evaluate({ key, holds }: Precondition, results: Map<string, MaybePromise<boolean>>): MaybePromise<boolean> {
  const known = key === undefined ? undefined : results.get(key);
  if (known !== undefined) return known;
  const result = safely(holds);
  if (key !== undefined) results.set(key, result);
  return result;
}

/** A failure of the evaluation itself says nothing about the request. */
function safely(holds: () => MaybePromise<boolean>): MaybePromise<boolean> {
  try {
    const result = holds();
    return result instanceof Promise ? result.catch(() => true) : result;
  } catch {
    return true;
  }
}
