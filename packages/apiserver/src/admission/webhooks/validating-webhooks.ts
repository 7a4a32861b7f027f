import { RequestObjects } from '../request-objects.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../plugin.ts';
import { type FoundHooks, WebhookDispatch, type WebhookModules } from './webhook-dispatch.ts';

/** ValidatingWebhookConfigurations (K6.4): all webhooks that match are asked at once, and each may refuse. */
export class ValidatingWebhooks implements AdmissionPlugin {
  readonly name: string;
  readonly #modules: WebhookModules;
  readonly #dispatch: WebhookDispatch;

  constructor(options: { readonly name?: string | undefined }, modules: WebhookModules) {
    this.name = options.name ?? 'ValidatingAdmissionWebhook';
    this.#modules = modules;
    this.#dispatch = new WebhookDispatch({ mutating: false }, modules);
  }

  handles(): boolean {
    return true;
  }

  validate(attributes: AdmissionAttributes): Promise<void> | undefined {
    const found = this.#dispatch.hooksFor(attributes);
    return found === undefined ? undefined : this.#askAll(found, attributes);
  }

  async #askAll({ tenant, hooks }: FoundHooks, attributes: AdmissionAttributes): Promise<void> {
    const objects = new RequestObjects(attributes, this.#modules);
    const called = [];
    for (const [index, hook] of hooks.entries()) {
      const selected = await this.#dispatch.select(hook, index, attributes, objects);
      if (selected !== undefined) called.push(selected);
    }
    const context = { attributes, objects, tenant, round: 0 };
    const answers = await Promise.allSettled(called.map((hook) => this.#dispatch.ask(hook, context)));
    // The refusal that is told is that of the first, whoever answered first.
    for (const answer of answers) if (answer.status === 'rejected') throw answer.reason;
  }
}
