import {
  errorText,
  isLogicalClusterName,
  isLogicalClusterPath,
  isStatusError,
  mastersGroup,
  type JsonObject,
  type LogicalClusterName,
  type UserInfo,
} from '@multiplane/apimachinery';
import type { Clock } from '@multiplane/component-base';
import {
  ReviewUnavailableError,
  type AuthorizationAttributes,
  type AuthorizationResult,
  type Authorizer,
  type Exchange,
} from '@multiplane/generic-server';
import type { LRUCache } from 'lru-cache';
import { responseObject, sendRequest, type ShardConnection } from './shard-connection.ts';
import { ttlCache } from './ttl-cache.ts';

export interface AccessReviewerOptions {
  /** How long an allowed decision is cached, in milliseconds; 0 disables the cache. */
  readonly allowedTtl: number;
  /** How long a denied decision is cached, in milliseconds. */
  readonly deniedTtl: number;
  /**
   * Skips the workspace content authorizer, as kcp's deep SubjectAccessReview does: for checks that the system makes
   * itself.
   */
  readonly deep?: boolean | undefined;
}

/** The resource attributes of a SubjectAccessReview. */
export type ReviewedAttributes = Pick<
  AuthorizationAttributes,
  'verb' | 'group' | 'version' | 'resource' | 'subresource' | 'namespace' | 'name'
>;

/** The non-resource attributes of a SubjectAccessReview. */
export type ReviewedPath = Pick<AuthorizationAttributes, 'verb' | 'path'>;

export interface AccessReviewerModules {
  readonly connection: ShardConnection;
  readonly clock: Clock;
  /**
   * Decides in this process as a SubjectAccessReview does, about logical clusters by name; absent: all reviews are sent
   * over the connection.
   */
  readonly authorizer?: Authorizer | undefined;
}

const maxCachedDecisions = 4_096;
const deepHeader = 'x-kcp-internal-deep-subjectaccessreview';

/**
 * Authorizes by a SubjectAccessReview in a logical cluster of a shard. The shard's whole authorizer chain decides: a
 * user without access to the logical cluster is allowed nothing in it. Decisions are cached for a short time, in a
 * bounded number.
 */
export class AccessReviewer {
  readonly #options: AccessReviewerOptions;
  readonly #connection: ShardConnection;
  readonly #authorizer: Authorizer | undefined;
  readonly #cache: LRUCache<string, AuthorizationResult>;

  constructor(options: AccessReviewerOptions, modules: AccessReviewerModules) {
    this.#options = options;
    this.#connection = modules.connection;
    this.#authorizer = modules.authorizer;
    this.#cache = ttlCache(maxCachedDecisions, modules.clock);
  }

  /** `cluster` is a name or a path. A cluster that does not exist yields no opinion. */
  async review(
    parent: Exchange,
    user: UserInfo,
    cluster: string,
    attributes: ReviewedAttributes | ReviewedPath,
  ): Promise<AuthorizationResult> {
    if (user.groups.includes(mastersGroup)) return { decision: 'allow', reason: '' };
    // The key of a virtual workspace comes from a path: it may be anything.
    if (!isLogicalClusterName(cluster) && !isLogicalClusterPath(cluster)) return accessDenied;
    // A path is left to the shard's request routing, which resolves it.
    if (this.#authorizer !== undefined && !cluster.includes(':'))
      return this.#authorizer.authorize(this.#attributes(user, cluster as LogicalClusterName, attributes));
    const spec = specOf(user, attributes);
    const key = JSON.stringify([cluster, spec]);
    const cached = this.#cache.get(key);
    if (cached !== undefined) return cached;
    const result = await this.#sendReview(parent, cluster, spec);
    const ttl = result.decision === 'allow' ? this.#options.allowedTtl : this.#options.deniedTtl;
    if (ttl > 0 && result.error === undefined) this.#cache.set(key, result, { ttl });
    return result;
  }

  /** An authorizer for the logical cluster that the request names; no opinion without one. */
  authorizer(parent: Exchange): Authorizer {
    return {
      authorize: async ({ user, cluster, isResourceRequest, path: _path, ...attributes }) =>
        cluster === undefined || cluster === '*' || !isResourceRequest
          ? { decision: 'noOpinion', reason: '' }
          : this.review(parent, user, cluster, attributes),
    };
  }

  #attributes(
    user: UserInfo,
    cluster: LogicalClusterName,
    attributes: ReviewedAttributes | ReviewedPath,
  ): AuthorizationAttributes {
    if ('path' in attributes) {
      const { verb, path } = attributes;
      return { user, cluster, isResourceRequest: false, ...noResource, verb, path };
    }
    // As in a shard: a review of reviews is never deep.
    const deep = this.#options.deep === true && attributes.group !== 'authorization.k8s.io';
    return { user, cluster, isResourceRequest: true, path: '', deep, ...resourceAttributesOf(attributes) };
  }

  async #sendReview(parent: Exchange, cluster: string, spec: JsonObject): Promise<AuthorizationResult> {
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
    try {
      const reviewed = responseObject(
        await sendRequest(
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
      const status = reviewed['status'] as { allowed?: boolean; denied?: boolean; reason?: string } | undefined;
      const decision = status?.allowed === true ? 'allow' : status?.denied === true ? 'deny' : 'noOpinion';
      return { decision, reason: status?.reason ?? '' };
    } catch (error) {
      if (isStatusError(error, 'NotFound') || isStatusError(error, 'Forbidden')) return accessDenied;
      return { decision: 'noOpinion', reason: '', error: outageOf(error) };
    }
  }
}

const accessDenied: AuthorizationResult = { decision: 'noOpinion', reason: 'access denied' };

/** A 401 is about this server, not about its client. */
const outageOf = (error: unknown): Error =>
  isStatusError(error) && error.code !== 401 ? error : new ReviewUnavailableError(errorText(error), { cause: error });

function specOf(user: UserInfo, attributes: ReviewedAttributes | ReviewedPath): JsonObject {
  return {
    user: user.name,
    uid: user.uid,
    groups: [...user.groups],
    extra: Object.fromEntries(Object.entries(user.extra).map(([key, values]) => [key, [...(values ?? [])]])),
    ...('path' in attributes
      ? { nonResourceAttributes: { verb: attributes.verb, path: attributes.path } }
      : { resourceAttributes: resourceAttributesOf(attributes) }),
  };
}

const noResource = { group: '', version: '', resource: '', subresource: '', namespace: '', name: '' };

/** Callers pass attributes of requests, which have further members. */
function resourceAttributesOf(attributes: ReviewedAttributes): ReviewedAttributes & JsonObject {
  const { verb, group, version, resource, subresource, namespace, name } = attributes;
  return { verb, group, version, resource, subresource, namespace, name };
}
