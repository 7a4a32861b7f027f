import {
  type Json,
  type KubeObject,
  applyJsonPatch,
  asJson,
  deepCopy,
  deepEqual,
  encodeJson,
  errorText,
  isJsonObject,
  isStatusError,
  statusErrors,
} from '@multiplane/apimachinery';
import type { AdmissionRound } from '../admission-round.ts';
import { Reinvocations } from '../reinvocations.ts';
import { checkScale, kindOfRequest, RequestObjects, scaleOfRequest } from '../request-objects.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../plugin.ts';
import { type CalledHook, type FoundHooks, WebhookDispatch, type WebhookModules } from './webhook-dispatch.ts';

/**
 * MutatingWebhookConfigurations (K6.4): webhooks are asked one after the other, in the order of their configurations'
 * names, each about what those before have left. When one of them changes the object all is done once more, with those
 * that want to see what was changed after their turn.
 */
export class MutatingWebhooks implements AdmissionPlugin {
  readonly name: string;
  readonly #modules: WebhookModules;
  readonly #dispatch: WebhookDispatch;

  constructor(options: { readonly name?: string | undefined }, modules: WebhookModules) {
    this.name = options.name ?? 'MutatingAdmissionWebhook';
    this.#modules = modules;
    this.#dispatch = new WebhookDispatch({ mutating: true }, modules);
  }

  handles(): boolean {
    return true;
  }

  admit(attributes: AdmissionAttributes, round: AdmissionRound): Promise<void> | undefined {
    const found = this.#dispatch.hooksFor(attributes);
    return found === undefined ? undefined : this.#askAll(found, attributes, round);
  }

  async #askAll({ tenant, hooks }: FoundHooks, attributes: AdmissionAttributes, round: AdmissionRound): Promise<void> {
    const objects = new RequestObjects(attributes, this.#modules);
    const reinvocations = round.state(this.name, () => new Reinvocations());
    reinvocations.begin(round, attributes.object);
    for (const [index, hook] of hooks.entries()) {
      if (!reinvocations.isTurnOf(round, hook.key)) continue;
      const called = await this.#dispatch.select(hook, index, attributes, objects);
      if (called === undefined) continue;
      const answer = await this.#dispatch.ask(called, { attributes, objects, tenant, round: round.number });
      const changed = answer !== undefined && (await this.#patch(called, answer.patch, attributes, objects, round));
      annotateMutation(called, changed, attributes, round);
      if (changed) reinvocations.changed(round);
      if (hook.reinvoked) reinvocations.add(hook.key);
    }
    reinvocations.end(attributes.object);
  }

  /** True when the patch changed something. */
  async #patch(
    { hook, index, definition }: CalledHook,
    patch: readonly Json[],
    attributes: AdmissionAttributes,
    objects: RequestObjects,
    round: AdmissionRound,
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
    const before = asJson(object as KubeObject);
    let after: Json;
    try {
      after = applyJsonPatch(before, patch as Json[]);
      if (!isJsonObject(after)) throw new TypeError('the patched document is not an object');
      if (scaleOfRequest(attributes, definition) === undefined)
        this.#modules.shape(after, kindOfRequest(attributes, definition));
      else checkScale(after);
    } catch (error) {
      // What was wrong with a patch its cause says.
      const why = isStatusError(error) && error.cause !== undefined ? error.cause : error;
      throw statusErrors.internal(new Error(errorText(why), { cause: error }));
    }
    attributes.annotate?.(
      `patch.webhook.admission.k8s.io/round_${round.number}_index_${index}`,
      encodeJson({
        configuration: hook.configuration,
        webhook: hook.name,
        patch: deepCopy(patch as Json[]),
        patchType: 'JSONPatch',
      }),
      'Request',
    );
    if (deepEqual(before, after)) return false;
    await objects.replace(definition, after as unknown as KubeObject);
    return true;
  }
}

function annotateMutation(
  { hook, index }: CalledHook,
  mutated: boolean,
  { annotate }: AdmissionAttributes,
  round: AdmissionRound,
): void {
  annotate?.(
    `mutation.webhook.admission.k8s.io/round_${round.number}_index_${index}`,
    encodeJson({ configuration: hook.configuration, webhook: hook.name, mutated }),
  );
}
