import {
  type Json,
  type JsonObject,
  type KubeObject,
  applyJsonPatch,
  asJson,
  deepEqual,
  encodeJson,
  encodeJsonIncrementally,
  errorText,
  isJsonObject,
  isStatusError,
  statusErrors,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { RequestWork } from '@multiplane/component-base';
import type { ReviewResponse } from './admission-review.ts';
import type { ReinvocationContext } from '../reinvocation-context.ts';
import { PluginReinvocations } from '../plugin-reinvocations.ts';
import { checkScale, kindOfRequest, RequestObjects, scaleOfRequest } from '../request-objects.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../plugin.ts';
import {
  type WebhookInvocation,
  type RelevantWebhooks,
  WebhookDispatcher,
  type WebhookModules,
} from './webhook-dispatcher.ts';

/**
 * MutatingWebhookConfigurations: webhooks are called one after the other, in the order of their configurations' names,
 * each with the object as changed by earlier ones. A change of the object reinvokes all plugins once, with the webhooks
 * whose reinvocation policy is IfNeeded.
 */
export class MutatingWebhooks implements AdmissionPlugin {
  readonly name: string;
  readonly #modules: WebhookModules;
  readonly #dispatch: WebhookDispatcher;

  constructor(options: { readonly name?: string | undefined }, modules: WebhookModules) {
    this.name = options.name ?? 'MutatingAdmissionWebhook';
    this.#modules = modules;
    this.#dispatch = new WebhookDispatcher({ mutating: true }, modules);
  }

  handles(): boolean {
    return true;
  }

  admit(attributes: AdmissionAttributes, round: ReinvocationContext): Promise<void> | undefined {
    const found = this.#dispatch.hooksFor(attributes);
    return found === undefined ? undefined : this.#callAll(found, attributes, round);
  }

  async #callAll(
    { tenant, hooks }: RelevantWebhooks,
    attributes: AdmissionAttributes,
    round: ReinvocationContext,
  ): Promise<void> {
    const objects = new RequestObjects(attributes, this.#modules);
    const reinvocations = round.pluginState(this.name, () => new PluginReinvocations());
    await reinvocations.startRound(attributes, round);
    for (const [index, hook] of hooks.entries()) {
      if (!reinvocations.shouldInvoke(round, hook.key)) continue;
      const invocation = await this.#dispatch.select(hook, index, attributes, objects);
      if (invocation === undefined) continue;
      const response = await this.#dispatch.call(invocation, { attributes, objects, tenant, round: round.round });
      const changed = response !== undefined && (await this.#patch(invocation, response, attributes, objects, round));
      annotateMutation(invocation, changed, attributes, round);
      if (changed) reinvocations.onObjectChanged(round);
      if (hook.isReinvocable) reinvocations.allowReinvocation(hook.key);
    }
    await reinvocations.endRound(attributes, round);
  }

  /** Applies the patch; returns whether it changed the object. */
  async #patch(
    { hook, index, definition }: WebhookInvocation,
    { patch, patchBytes }: Pick<ReviewResponse, 'patch' | 'patchBytes'>,
    attributes: AdmissionAttributes,
    objects: RequestObjects,
    round: ReinvocationContext,
  ): Promise<boolean> {
    if (patch.length === 0) return false;
    const object = await objects.object(definition);
    if (object === undefined) {
      throw statusErrors.internal(
        new Error(
          `admission webhook ${JSON.stringify(hook.name)} attempted to modify the object, which is not supported for this operation`,
        ),
      );
    }
    const { work = new RequestWork() } = attributes;
    const before = asJson(object as KubeObject);
    let after: Json;
    try {
      after = await this.#patched(before, patch, attributes, definition, work);
    } catch (error) {
      // The cause describes the invalid patch.
      const why = isStatusError(error) && error.cause !== undefined ? error.cause : error;
      throw statusErrors.internal(new Error(errorText(why), { cause: error }));
    }
    if (attributes.annotate !== undefined) {
      const { configuration, name: webhook } = hook;
      const applied = { configuration, webhook, patch: patch as Json[], patchType: 'JSONPatch' };
      attributes.annotate(
        `patch.webhook.admission.k8s.io/round_${round.round}_index_${index}`,
        await work.run(encodeJsonIncrementally(applied)),
        'Request',
      );
    }
    await work.pause();
    if (deepEqual(before, after)) return false;
    await objects.replace(definition, after as unknown as KubeObject);
    work.grow(patchBytes);
    return true;
  }

  async #patched(
    before: JsonObject,
    patch: readonly Json[],
    attributes: AdmissionAttributes,
    definition: ResourceDefinition,
    work: RequestWork,
  ): Promise<JsonObject> {
    const after = await work.run(applyJsonPatch(before, patch as Json[]));
    if (!isJsonObject(after)) throw new TypeError('the patched document is not an object');
    await work.pause();
    if (scaleOfRequest(attributes, definition) === undefined)
      await this.#modules.conform(after, kindOfRequest(attributes, definition), work);
    else checkScale(after);
    return after;
  }
}

function annotateMutation(
  { hook, index }: WebhookInvocation,
  mutated: boolean,
  { annotate }: AdmissionAttributes,
  round: ReinvocationContext,
): void {
  annotate?.(
    `mutation.webhook.admission.k8s.io/round_${round.round}_index_${index}`,
    encodeJson({ configuration: hook.configuration, webhook: hook.name, mutated }),
  );
}
