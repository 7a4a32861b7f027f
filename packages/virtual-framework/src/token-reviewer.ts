import { hexSha256, isJsonObject, type LogicalClusterName } from '@multiplane/apimachinery';
import type { AuthenticationResponse, TokenAuthenticator } from '@multiplane/apiserver';
import type { ObjectClient } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';

export interface TokenReviewerOptions {
  /** How long an answer is believed, in milliseconds. */
  readonly ttl: number;
}

const tokenReviews = { group: 'authentication.k8s.io', version: 'v1', resource: 'tokenreviews' };
/** Where a shard keeps what is its own. */
const systemAdmin = 'system:admin' as LogicalClusterName;
const maxRemembered = 4_096;

/**
 * Lets a shard say whose bearer token it is (K7.2). Tokens are remembered by their hash, in a bounded number and for a
 * short time, refused ones too: whoever guesses costs the shard no more than that.
 */
export class TokenReviewer implements TokenAuthenticator {
  readonly #options: TokenReviewerOptions;
  readonly #client: Pick<ObjectClient, 'create'>;
  readonly #clock: Clock;
  readonly #remembered = new Map<string, { until: number; response: AuthenticationResponse | undefined }>();
  constructor(
    options: TokenReviewerOptions,
    modules: { readonly client: Pick<ObjectClient, 'create'>; readonly clock: Clock },
  ) {
    this.#options = options;
    this.#client = modules.client;
    this.#clock = modules.clock;
  }

  async authenticateToken(token: string, audiences: readonly string[]): Promise<AuthenticationResponse | undefined> {
    const key = hexSha256(JSON.stringify([token, audiences]));
    const now = this.#clock.monotonic();
    const known = this.#remembered.get(key);
    if (known !== undefined && known.until > now) return known.response;
    const response = await this.#review(token, audiences);
    this.#remembered.delete(key);
    for (const oldest of this.#remembered.keys()) {
      if (this.#remembered.size < maxRemembered) break;
      this.#remembered.delete(oldest);
    }
    this.#remembered.set(key, { until: now + this.#options.ttl, response });
    return response;
  }

  async #review(token: string, audiences: readonly string[]): Promise<AuthenticationResponse | undefined> {
    const review = await this.#client.create(tokenReviews, systemAdmin, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      metadata: {},
      spec: { token, ...(audiences.length === 0 ? {} : { audiences: [...audiences] }) },
    });
    const status = review['status'];
    if (!isJsonObject(status) || status['authenticated'] !== true || !isJsonObject(status['user'])) return undefined;
    const { username, uid, groups, extra } = status['user'] as {
      username?: string;
      uid?: string;
      groups?: string[];
      extra?: Record<string, string[]>;
    };
    if (username === undefined || username === '') return undefined;
    return { user: { name: username, uid: uid ?? '', groups: groups ?? [], extra: extra ?? {} } };
  }
}
