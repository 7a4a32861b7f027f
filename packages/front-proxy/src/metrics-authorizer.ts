import { isJsonObject, mastersGroup, type Json, type UserInfo } from '@multiplane/apimachinery';
import type { RestTransport } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import { LRUCache } from 'lru-cache';

const ttlMs = 10_000;
const maxEntries = 1_000;
const path = '/clusters/root/apis/authorization.k8s.io/v1/subjectaccessreviews';

/**
 * Authorizes access to the metrics of the front-proxy: the same permission as on a shard, `get` on `/metrics` in the RBAC of
 * `root`. Decisions of the root shard are cached for a short time.
 */
export class MetricsAuthorizer {
  readonly #transport: RestTransport;
  readonly #clock: Clock;
  readonly #decisions = new LRUCache<string, { readonly allowed: boolean; readonly expiresAt: number }>({
    max: maxEntries,
  });

  constructor(modules: { readonly transport: RestTransport; readonly clock: Clock }) {
    this.#transport = modules.transport;
    this.#clock = modules.clock;
  }

  /** Rejects if the review fails. */
  async allows(user: UserInfo): Promise<boolean> {
    if (user.groups.includes(mastersGroup)) return true;
    const key = JSON.stringify(user);
    const now = this.#clock.monotonic();
    const cached = this.#decisions.get(key);
    if (cached !== undefined && cached.expiresAt > now) return cached.allowed;
    const { name, uid, groups, extra } = user;
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
    const response = await this.#transport.json({ method: 'POST', path, body: JSON.stringify(review) });
    const status = isJsonObject(response) ? response['status'] : undefined;
    const allowed = isJsonObject(status ?? null) && (status as { readonly allowed?: unknown }).allowed === true;
    this.#decisions.set(key, { allowed, expiresAt: now + ttlMs });
    return allowed;
  }
}
