import {
  type DeepReadonly,
  type Json,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
  asJson,
  statusErrors,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { RequestWork } from '@multiplane/component-base';
import { loopbackUser } from '../../loopback/loopback-user.ts';
import type { ObjectReader } from '../../registry/store/object-reader.ts';
import { AdmissionEvaluation, conditionsBudget, type EvaluationModules } from '../admission-evaluation.ts';
import { admissionRequest } from '../admission-request.ts';
import type { ClusterConfigurations } from '../matching/cluster-configurations.ts';
import { isExempt, type RequestMatcher } from '../matching/request-matcher.ts';
import type { AdmissionAttributes } from '../plugin.ts';
import type { RequestKind, RequestObjects } from '../request-objects.ts';
import {
  type AdmissionReviewer,
  type ReviewResponse,
  WebhookFailure,
  failureStatus,
  rejection,
} from './admission-review.ts';
import type { InternalCallLimiter } from './internal-call-limiter.ts';
import type { WebhookAccessor } from './webhook-accessor.ts';

/**
 * The logical cluster whose webhook configurations and policies apply to a write: that of the APIExport for bound
 * resources, otherwise its own.
 */
export type ConfigurationCluster = (attributes: AdmissionAttributes) => LogicalClusterName;

export interface WebhookModules extends EvaluationModules {
  readonly configurations: ClusterConfigurations<readonly WebhookAccessor[]>;
  readonly configurationCluster: ConfigurationCluster;
  readonly matcher: RequestMatcher;
  readonly reviewer: AdmissionReviewer;
  readonly internalCallLimiter: InternalCallLimiter;
  readonly reader: ObjectReader;
  /** Conforms a patched object to the schema of its kind; throws if it is invalid. */
  readonly conform: (document: JsonObject, kind: RequestKind, work: RequestWork) => Promise<unknown>;
}

/** A webhook to call for a write, and the version in which it sees the objects. */
export interface WebhookInvocation {
  readonly hook: WebhookAccessor;
  /** Index among all relevant webhooks. */
  readonly index: number;
  readonly definition: ResourceDefinition;
}

/** Webhooks that may match a write, and the logical cluster that owns them. */
export interface RelevantWebhooks {
  readonly tenant: LogicalClusterName;
  readonly hooks: readonly WebhookAccessor[];
}

const never = new AbortController().signal;
/**
 * Webhook timeout for writes of the control plane itself: slow webhooks must not block controllers that serve all
 * tenants.
 */
const internalTimeoutMs = 3000;

/** Selects and calls webhooks, for the mutating and the validating plugin. */
export class WebhookDispatcher {
  readonly #mutating: boolean;
  readonly #modules: WebhookModules;

  constructor(options: { readonly mutating: boolean }, modules: WebhookModules) {
    this.#mutating = options.mutating;
    this.#modules = modules;
  }

  /** The relevant webhooks of a write; undefined if there are none, without waiting. */
  hooksFor(attributes: AdmissionAttributes): RelevantWebhooks | undefined {
    const { configurations, configurationCluster } = this.#modules;
    if (isExempt(attributes.definition)) return undefined;
    const tenant = configurationCluster(attributes);
    return configurations.has(tenant) ? { tenant, hooks: configurations.of(tenant).flat() } : undefined;
  }

  /** Whether a webhook matches a write. Throws if its match conditions fail, or if it does not support dry run. */
  async select(
    hook: WebhookAccessor,
    index: number,
    attributes: AdmissionAttributes,
    objects: RequestObjects,
  ): Promise<WebhookInvocation | undefined> {
    const { matcher } = this.#modules;
    const definition = matcher.match(hook.criteria, attributes);
    if (definition === undefined) return undefined;
    if (hook.conditions.length > 0) {
      const evaluation = await AdmissionEvaluation.of(
        { attributes, objects, definition, namespace: undefined, budget: conditionsBudget },
        this.#modules,
      );
      const conditionsMet = await evaluation.conditions(hook.conditions);
      if (conditionsMet === false) return undefined;
      if (conditionsMet !== true) {
        if (hook.ignoresFailure) return undefined;
        const { group, resource } = attributes.definition;
        const why = conditionsMet.length === 1 ? conditionsMet[0] : `[${conditionsMet.join(', ')}]`;
        throw statusErrors.forbidden({ group, resource }, attributes.name, why as string);
      }
    }
    if (attributes.dryRun && !hook.dryRun)
      throw statusErrors.badRequest(`admission webhook ${JSON.stringify(hook.name)} does not support dry run`);
    return { hook, index, definition };
  }

  /**
   * Calls a webhook. Returns undefined if the call failed and the failure policy is Ignore; throws the denial, or the
   * failure.
   */
  async call(
    { hook, index, definition }: WebhookInvocation,
    context: {
      readonly attributes: AdmissionAttributes;
      readonly objects: RequestObjects;
      readonly tenant: LogicalClusterName;
      readonly round: number;
    },
  ): Promise<ReviewResponse | undefined> {
    const { attributes, objects, tenant, round } = context;
    const request: JsonObject = {
      ...admissionRequest(attributes, definition),
      object: jsonOrNull(await objects.object(definition)),
      oldObject: jsonOrNull(await objects.oldObject(definition)),
    };
    try {
      const response = await this.#call(hook, request, attributes, tenant);
      for (const [key, value] of response.auditAnnotations) attributes.annotate?.(`${hook.name}/${key}`, value);
      for (const text of response.warnings) attributes.warn(text);
      if (!response.allowed) throw rejection(hook, response.status);
      return response;
    } catch (error) {
      if (!(error instanceof WebhookFailure)) throw error;
      if (!hook.ignoresFailure) throw failureStatus(error);
      if (attributes.signal?.aborted === true)
        throw statusErrors.timeout('request did not complete within requested timeout');
      const kind = this.#mutating ? 'mutation' : 'validating';
      attributes.annotate?.(`failed-open.${kind}.webhook.admission.k8s.io/round_${round}_index_${index}`, hook.name);
      return undefined;
    }
  }

  async #call(
    hook: WebhookAccessor,
    request: JsonObject,
    { user, signal = never }: AdmissionAttributes,
    tenant: LogicalClusterName,
  ): Promise<ReviewResponse> {
    const { reviewer } = this.#modules;
    const timeoutMs = hook.timeoutSeconds * 1000;
    const call = { hook, tenant, mutating: this.#mutating, request, signal };
    if (user.name !== loopbackUser.name) return reviewer.review({ ...call, timeoutMs });
    const end = this.#modules.internalCallLimiter.tryAcquire(tenant);
    if (end === undefined) throw new WebhookFailure(hook, 'the webhooks of this workspace are slow, try again later');
    try {
      return await reviewer.review({ ...call, timeoutMs: Math.min(timeoutMs, internalTimeoutMs) });
    } finally {
      end();
    }
  }
}

const jsonOrNull = (object: DeepReadonly<KubeObject> | undefined): Json =>
  object === undefined ? null : asJson(object as KubeObject);
