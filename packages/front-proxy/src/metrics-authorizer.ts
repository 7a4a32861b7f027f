import { isJsonObject, mastersGroup, statusErrors, type Json, type UserInfo } from '@multiplane/apimachinery';
import type { RestTransport } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import { LRUCache } from 'lru-cache';

const ttlMs = 10_000;
/** How long a user that was allowed stays so while the root shard does not answer: its outage must stay visible. */
const outageMs = 300_000;
const maxEntries = 1_000;
const reviewPath = '/clusters/root/apis/authorization.k8s.io/v1/subjectaccessreviews';

/**
 * Authorizes access to the metrics of the front-proxy: the same permission as on a shard, `get` on `/metrics` in the RBAC of
 * `root`. Decisions of the root shard are cached for a short time, and used for longer while it does not answer.
 */
export class MetricsAuthorizer {
  readonly #transport: Pick<RestTransport, 'json'>;
  readonly #clock: Clock;
  readonly #decisions = new LRUCache<string, { readonly allowed: boolean; readonly at: number }>({
    max: maxEntries,
  });

  constructor(modules: { readonly transport: Pick<RestTransport, 'json'>; readonly clock: Clock }) {
    this.#transport = modules.transport;
    this.#clock = modules.clock;
  }

  /** Throws StatusError 503 while the root shard does not answer and has not allowed the user within the last five minutes. */
  async allows(user: UserInfo): Promise<boolean> {
    if (user.groups.includes(mastersGroup)) return true;
    const key = JSON.stringify(user);
    const cached = this.#decisions.get(key);
    const age = cached === undefined ? Infinity : this.#clock.monotonic() - cached.at;
    if (cached !== undefined && age < ttlMs) return cached.allowed;
    let allowed: boolean;
    try {
      allowed = await this.#review(user);
    } catch {
      if (cached?.allowed === true && age < outageMs) return true;
      // The reason may tell of the topology.
      throw statusErrors.serviceUnavailable('the access to metrics could not be reviewed', 1);
    }
    this.#decisions.set(key, { allowed, at: this.#clock.monotonic() });
    return allowed;
  }

  async #review({ name, uid, groups, extra }: UserInfo): Promise<boolean> {
    const review: Json = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        nonResourceAttributes: { verb: 'get', path: '/metrics' },
        user: name,
        uid,
        groups: [...groups],
        extra: Object.fromEntries(Object.entries(extra).map(([field, values]) => [field, [...values]])),
      },
    };
    const response = await this.#transport.json({ method: 'POST', path: reviewPath, body: JSON.stringify(review) });
    const status = isJsonObject(response) ? response['status'] : undefined;
    return isJsonObject(status ?? null) && (status as { readonly allowed?: unknown }).allowed === true;
  }
}
