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
import { loopbackUser } from '../../informers/loopback-client.ts';
import type { ObjectReader } from '../../registry/object-reader.ts';
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
import type { InternalCalls } from './internal-calls.ts';
import type { WebhookHook } from './webhook-hook.ts';

/** Where the configurations for a write come from (C6.13): the logical cluster of the export of what is bound, or its own. */
export type ConfigurationCluster = (attributes: AdmissionAttributes) => LogicalClusterName;

export interface WebhookModules extends EvaluationModules {
  readonly configurations: ClusterConfigurations<readonly WebhookHook[]>;
  readonly configurationCluster: ConfigurationCluster;
  readonly matcher: RequestMatcher;
  readonly reviewer: AdmissionReviewer;
  readonly internalCalls: InternalCalls;
  readonly reader: ObjectReader;
  /** Brings what a webhook made of an object into the shape of its kind; throws what is wrong with it. */
  readonly shape: (document: JsonObject, kind: RequestKind) => void;
}

/** A webhook that is to be asked about a write, and in which version. */
export interface CalledHook {
  readonly hook: WebhookHook;
  /** Its place among all that might have been asked. */
  readonly index: number;
  readonly definition: ResourceDefinition;
}

/** Webhooks that may have a say about a write, and whose they are. */
export interface FoundHooks {
  readonly tenant: LogicalClusterName;
  readonly hooks: readonly WebhookHook[];
}

const never = new AbortController().signal;
/**
 * How long the control plane's own writes wait for a webhook. A tenant's slow webhook must not hold up the controllers that
 * work for all.
 */
const internalTimeoutMs = 3000;

/** What asking a mutating and a validating webhook have in common (K6.4, K6.5). */
export class WebhookDispatch {
  readonly #mutating: boolean;
  readonly #modules: WebhookModules;

  constructor(options: { readonly mutating: boolean }, modules: WebhookModules) {
    this.#mutating = options.mutating;
    this.#modules = modules;
  }

  /** The webhooks that may have a say, and whose they are; undefined: none, which is found out at once. */
  hooksFor(attributes: AdmissionAttributes): FoundHooks | undefined {
    const { configurations, configurationCluster } = this.#modules;
    if (isExempt(attributes.definition)) return undefined;
    const tenant = configurationCluster(attributes);
    return configurations.has(tenant) ? { tenant, hooks: configurations.of(tenant).flat() } : undefined;
  }

  /** Whether a webhook is to be asked; throws the refusal of one that cannot be decided about, or of a dry run. */
  async select(
    hook: WebhookHook,
    index: number,
    attributes: AdmissionAttributes,
    objects: RequestObjects,
  ): Promise<CalledHook | undefined> {
    const { matcher } = this.#modules;
    const definition = matcher.match(hook.criteria, attributes);
    if (definition === undefined) return undefined;
    if (hook.conditions.length > 0) {
      const evaluation = await AdmissionEvaluation.of(
        { attributes, objects, definition, namespace: undefined, budget: conditionsBudget },
        this.#modules,
      );
      const held = await evaluation.conditions(hook.conditions);
      if (held === false) return undefined;
      if (held !== true) {
        if (hook.ignoresFailure) return undefined;
        const { group, resource } = attributes.definition;
        const why = held.length === 1 ? held[0] : `[${held.join(', ')}]`;
        throw statusErrors.forbidden({ group, resource }, attributes.name, why as string);
      }
    }
    if (attributes.dryRun && !hook.dryRun)
      throw statusErrors.badRequest(`admission webhook ${JSON.stringify(hook.name)} does not support dry run`);
    return { hook, index, definition };
  }

  /**
   * Asks a webhook. Undefined: it could not be asked, which counts as consent. Throws its refusal, or its failure where
   * that counts as one.
   */
  async ask(
    { hook, index, definition }: CalledHook,
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
    hook: WebhookHook,
    request: JsonObject,
    { user, signal = never }: AdmissionAttributes,
    tenant: LogicalClusterName,
  ): Promise<ReviewResponse> {
    const { reviewer } = this.#modules;
    const timeoutMs = hook.timeoutSeconds * 1000;
    const call = { hook, tenant, mutating: this.#mutating, request, signal };
    if (user.name !== loopbackUser.name) return reviewer.review({ ...call, timeoutMs });
    const end = this.#modules.internalCalls.begin(tenant);
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
