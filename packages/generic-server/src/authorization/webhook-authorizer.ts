import { getOwn, isJsonObject, setOwn, type JsonObject } from '@multiplane/apimachinery';
import type { Clock } from '@multiplane/component-base';
import { ReviewUnavailableError } from '../webhooks/review-unavailable-error.ts';
import { SharedLookupCache } from '../webhooks/shared-lookup-cache.ts';
import type { SendReview } from '../webhooks/operator-webhook.ts';
import type { AuthorizationAttributes, AuthorizationResult, Authorizer } from './authorizer.ts';

export interface WebhookAuthorizerOptions {
  /** API version in the group authorization.k8s.io. */
  readonly version: 'v1' | 'v1beta1';
  /** How long `allow` is cached. */
  readonly authorizedTtlMs: number;
  /** How long other decisions are cached. */
  readonly unauthorizedTtlMs: number;
}

/** Extra with the logical cluster of the request, as kcp sends it. */
const clusterNameExtra = 'authorization.kcp.io/cluster-name';
const maxEntries = 8192;
/** Longer requests are not cached: clients control their length. */
const maxKeyLength = 10_000;

/**
 * Authorizes requests with SubjectAccessReviews to the webhook of `--authorization-webhook-config-file`. A failed call is no
 * opinion with an error.
 */
export class WebhookAuthorizer implements Authorizer {
  readonly #options: WebhookAuthorizerOptions;
  readonly #send: SendReview;
  readonly #cache: SharedLookupCache<AuthorizationResult>;
  constructor(options: WebhookAuthorizerOptions, modules: { readonly send: SendReview; readonly clock: Clock }) {
    this.#options = options;
    this.#send = modules.send;
    this.#cache = new SharedLookupCache({ maxEntries }, modules);
  }

  async authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    const { version, authorizedTtlMs, unauthorizedTtlMs } = this.#options;
    const spec = specOf(attributes, version);
    const key = JSON.stringify(spec);
    try {
      return await this.#cache.get(key, async () => {
        const response = await this.#send({
          kind: 'SubjectAccessReview',
          apiVersion: `authorization.k8s.io/${version}`,
          metadata: { creationTimestamp: null },
          spec,
          status: { allowed: false },
        });
        const value = resultOf(response);
        const ttlMs = value.decision === 'allow' ? authorizedTtlMs : unauthorizedTtlMs;
        return { value, ttlMs: key.length > maxKeyLength ? 0 : ttlMs };
      });
    } catch (cause) {
      const error = new ReviewUnavailableError(`the authorization webhook: ${(cause as Error).message}`, { cause });
      return { decision: 'noOpinion', reason: '', error };
    }
  }
}

function specOf(attributes: AuthorizationAttributes, version: 'v1' | 'v1beta1'): JsonObject {
  const { user, cluster, verb, path, isResourceRequest } = attributes;
  const extra: JsonObject = {};
  for (const key of Object.keys(user.extra)) setOwn(extra, key, [...(user.extra[key] ?? [])]);
  if (cluster !== undefined) setOwn(extra, clusterNameExtra, [cluster]);
  return {
    ...(isResourceRequest
      ? { resourceAttributes: resourceAttributes(attributes) }
      : { nonResourceAttributes: { path, verb } }),
    user: user.name,
    ...(user.groups.length === 0 ? {} : { [version === 'v1' ? 'groups' : 'group']: [...user.groups] }),
    ...(user.uid === '' ? {} : { uid: user.uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

function resourceAttributes(attributes: AuthorizationAttributes): JsonObject {
  const { fieldSelector, labelSelector } = attributes;
  const result: JsonObject = {};
  for (const name of ['namespace', 'verb', 'group', 'version', 'resource', 'subresource', 'name'] as const)
    if (attributes[name] !== '') result[name] = attributes[name];
  if (isSet(fieldSelector)) result['fieldSelector'] = { rawSelector: fieldSelector };
  if (isSet(labelSelector)) result['labelSelector'] = { rawSelector: labelSelector };
  return result;
}

const isSet = (text: string | undefined): text is string => text !== undefined && text !== '';

/** Throws for a contradictory or invalid response. */
function resultOf(response: JsonObject): AuthorizationResult {
  const status = getOwn(response, 'status');
  if (!isJsonObject(status)) throw new Error('the response has no status');
  const [allowed, denied] = ['allowed', 'denied'].map((name) => getOwn(status, name) === true);
  if (allowed === true && denied === true)
    throw new Error('webhook subject access review returned both allow and deny response');
  const reason = getOwn(status, 'reason');
  return {
    decision: allowed === true ? 'allow' : denied === true ? 'deny' : 'noOpinion',
    reason: typeof reason === 'string' ? reason : '',
  };
}
