import { isStatusError, mastersGroup, type JsonObject, type UserInfo } from '@multiplane/apimachinery';
import type { AuthorizationAttributes, AuthorizationResult, Authorizer, Exchange } from '@multiplane/apiserver';
import type { Clock } from '@multiplane/component-base';
import { objectOf, request, type ShardConnection } from './shard-connection.ts';

export interface AccessReviewerOptions {
  /** How long an allowance is believed, in milliseconds; 0 where asking costs nothing. */
  readonly allowedTtl: number;
  /** The same for a refusal. */
  readonly deniedTtl: number;
  /** What guards the entrance of the logical cluster is left out (C7.9): for checks of the system's own. */
  readonly deep?: boolean | undefined;
}

/** What somebody wants to do to one object of the API, somewhere. */
export type ReviewedAttributes = Pick<
  AuthorizationAttributes,
  'verb' | 'group' | 'version' | 'resource' | 'subresource' | 'namespace' | 'name'
>;

/** What somebody wants to do with a path that is no resource. */
export type ReviewedPath = Pick<AuthorizationAttributes, 'verb' | 'path'>;

interface Remembered {
  readonly result: AuthorizationResult;
  readonly until: number;
}

const maxRemembered = 4_096;
const deepHeader = 'x-kcp-internal-deep-subjectaccessreview';

/**
 * Asks a shard what somebody may do in a logical cluster, by SubjectAccessReview. The shard's whole chain decides: whoever
 * may not enter the logical cluster may do nothing there. Answers are remembered for a short time, in a bounded number.
 */
export class AccessReviewer {
  readonly #options: AccessReviewerOptions;
  readonly #connection: ShardConnection;
  readonly #clock: Clock;
  readonly #remembered = new Map<string, Remembered>();

  constructor(
    options: AccessReviewerOptions,
    modules: { readonly connection: ShardConnection; readonly clock: Clock },
  ) {
    this.#options = options;
    this.#connection = modules.connection;
    this.#clock = modules.clock;
  }

  /** `cluster` is a name or a path. What leads nowhere allows nothing. */
  async review(
    parent: Exchange,
    user: UserInfo,
    cluster: string,
    asked: ReviewedAttributes | ReviewedPath,
  ): Promise<AuthorizationResult> {
    if (user.groups.includes(mastersGroup)) return { decision: 'allow', reason: '' };
    const spec = specOf(user, asked);
    const key = JSON.stringify([cluster, spec]);
    const now = this.#clock.monotonic();
    const known = this.#remembered.get(key);
    if (known !== undefined && known.until > now) return known.result;
    const result = await this.#ask(parent, cluster, spec);
    const ttl = result.decision === 'allow' ? this.#options.allowedTtl : this.#options.deniedTtl;
    this.#remembered.delete(key);
    if (ttl > 0 && result.error === undefined) this.#remember(key, { result, until: now + ttl });
    return result;
  }

  /** For checks in the logical cluster that a request names. */
  authorizer(parent: Exchange): Authorizer {
    return {
      authorize: async ({ user, cluster, isResourceRequest, path: _path, ...asked }) =>
        cluster === undefined || cluster === '*' || !isResourceRequest
          ? { decision: 'noOpinion', reason: '' }
          : this.review(parent, user, cluster, asked),
    };
  }

  async #ask(parent: Exchange, cluster: string, spec: JsonObject): Promise<AuthorizationResult> {
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
    try {
      const answer = objectOf(
        await request(
          this.#connection,
          parent,
          { url: `/clusters/${cluster}/apis/authorization.k8s.io/v1/subjectaccessreviews` },
          {
            method: 'POST',
            headers: {
              accept: 'application/json',
              'content-type': 'application/json',
              ...(this.#options.deep === true ? { [deepHeader]: 'true' } : {}),
            },
            body: JSON.stringify(review),
          },
        ),
      );
      const status = answer['status'] as { allowed?: boolean; denied?: boolean; reason?: string } | undefined;
      const decision = status?.allowed === true ? 'allow' : status?.denied === true ? 'deny' : 'noOpinion';
      return { decision, reason: status?.reason ?? '' };
    } catch (error) {
      if (isStatusError(error, 'NotFound') || isStatusError(error, 'Forbidden'))
        return { decision: 'noOpinion', reason: 'access denied' };
      return { decision: 'noOpinion', reason: '', error: error instanceof Error ? error : new Error(String(error)) };
    }
  }

  /** A Map keeps the order of insertion: the oldest answer goes first. */
  #remember(key: string, entry: Remembered): void {
    for (const oldest of this.#remembered.keys()) {
      if (this.#remembered.size < maxRemembered) break;
      this.#remembered.delete(oldest);
    }
    this.#remembered.set(key, entry);
  }
}

function specOf(user: UserInfo, asked: ReviewedAttributes | ReviewedPath): JsonObject {
  return {
    user: user.name,
    uid: user.uid,
    groups: [...user.groups],
    extra: Object.fromEntries(Object.entries(user.extra).map(([key, values]) => [key, [...(values ?? [])]])),
    ...('path' in asked
      ? { nonResourceAttributes: { verb: asked.verb, path: asked.path } }
      : { resourceAttributes: resourceAttributesOf(asked) }),
  };
}

function resourceAttributesOf(asked: ReviewedAttributes): JsonObject {
  const { verb, group, version, resource, subresource, namespace, name } = asked;
  return { verb, group, version, resource, subresource, namespace, name };
}
