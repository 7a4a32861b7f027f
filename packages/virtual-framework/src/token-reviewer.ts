import { errorText, hexSha256, isJsonObject, type KubeObject, type LogicalClusterName } from '@multiplane/apimachinery';
import type { ObjectClient } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import {
  reviewedUser,
  ReviewUnavailableError,
  type AuthenticationResponse,
  type TokenAuthenticator,
} from '@multiplane/generic-server';
import type { LRUCache } from 'lru-cache';
import { ttlCache } from './ttl-cache.ts';

export interface TokenReviewerOptions {
  /** How long a review result is cached, in milliseconds. */
  readonly ttl: number;
}

const tokenReviews = { group: 'authentication.k8s.io', version: 'v1', resource: 'tokenreviews' };
/** The system logical cluster of the shard. */
const systemAdmin = 'system:admin' as LogicalClusterName;
const maxCachedTokens = 4_096;

/**
 * Authenticates bearer tokens by a TokenReview on the shard. Results are cached by the hash of the token, in a bounded
 * number and for a short time. Rejected tokens are cached as well, so that repeated guesses do not load the shard.
 */
export class TokenReviewer implements TokenAuthenticator {
  readonly #options: TokenReviewerOptions;
  readonly #client: Pick<ObjectClient, 'create'>;
  readonly #cache: LRUCache<string, { readonly response: AuthenticationResponse | undefined }>;
  constructor(
    options: TokenReviewerOptions,
    modules: { readonly client: Pick<ObjectClient, 'create'>; readonly clock: Clock },
  ) {
    this.#options = options;
    this.#client = modules.client;
    this.#cache = ttlCache(maxCachedTokens, modules.clock);
  }

  async authenticateToken(token: string, audiences: readonly string[]): Promise<AuthenticationResponse | undefined> {
    const key = hexSha256(JSON.stringify([token, audiences]));
    const cached = this.#cache.get(key);
    if (cached !== undefined) return cached.response;
    const response = await this.#review(token, audiences);
    this.#cache.set(key, { response }, { ttl: this.#options.ttl });
    return response;
  }

  async #send(review: KubeObject): Promise<KubeObject> {
    try {
      return await this.#client.create(tokenReviews, systemAdmin, review);
    } catch (cause) {
      throw new ReviewUnavailableError(`failed to review a token: ${errorText(cause)}`, { cause });
    }
  }

  async #review(token: string, audiences: readonly string[]): Promise<AuthenticationResponse | undefined> {
    const review = await this.#send({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      metadata: {},
      spec: { token, ...(audiences.length === 0 ? {} : { audiences: [...audiences] }) },
    });
    const status = review['status'];
    if (!isJsonObject(status) || status['authenticated'] !== true) return undefined;
    const user = reviewedUser(status);
    return user.name === '' ? undefined : { user };
  }
}
