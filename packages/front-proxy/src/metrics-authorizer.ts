import { isJsonObject, mastersGroup, type Json, type UserInfo } from '@multiplane/apimachinery';
import type { RestTransport } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';

const ttlMs = 10_000;
const maxEntries = 1_000;
const path = '/clusters/root/apis/authorization.k8s.io/v1/subjectaccessreviews';

/**
 * Whether a user may read the metrics: the same right as on a shard, `get` on `/metrics` by the RBAC of `root` (C1.4),
 * asked of the root shard and remembered for a short while.
 */
export class MetricsAccess {
  readonly #transport: RestTransport;
  readonly #clock: Clock;
  readonly #known = new Map<string, { readonly allowed: boolean; readonly until: number }>();

  constructor(modules: { readonly transport: RestTransport; readonly clock: Clock }) {
    this.#transport = modules.transport;
    this.#clock = modules.clock;
  }

  /** Throws what asking threw. */
  async allows(user: UserInfo): Promise<boolean> {
    if (user.groups.includes(mastersGroup)) return true;
    const key = JSON.stringify(user);
    const now = this.#clock.monotonic();
    const known = this.#known.get(key);
    if (known !== undefined && known.until > now) return known.allowed;
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
    const answer = await this.#transport.json({ method: 'POST', path, body: JSON.stringify(review) });
    const status = isJsonObject(answer) ? answer['status'] : undefined;
    const allowed = isJsonObject(status ?? null) && (status as { readonly allowed?: unknown }).allowed === true;
    if (this.#known.size >= maxEntries) this.#known.clear();
    this.#known.set(key, { allowed, until: now + ttlMs });
    return allowed;
  }
}
