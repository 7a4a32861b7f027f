import { RequestObjects } from '../request-objects.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../plugin.ts';
import { type RelevantWebhooks, WebhookDispatcher, type WebhookModules } from './webhook-dispatcher.ts';

/** ValidatingWebhookConfigurations: all matching webhooks are called concurrently; each may deny the request. */
export class ValidatingWebhooks implements AdmissionPlugin {
  readonly name: string;
  readonly #modules: WebhookModules;
  readonly #dispatch: WebhookDispatcher;

  constructor(options: { readonly name?: string | undefined }, modules: WebhookModules) {
    this.name = options.name ?? 'ValidatingAdmissionWebhook';
    this.#modules = modules;
    this.#dispatch = new WebhookDispatcher({ mutating: false }, modules);
  }

  handles(): boolean {
    return true;
  }

  validate(attributes: AdmissionAttributes): Promise<void> | undefined {
    const found = this.#dispatch.hooksFor(attributes);
    return found === undefined ? undefined : this.#callAll(found, attributes);
  }

  async #callAll({ tenant, hooks }: RelevantWebhooks, attributes: AdmissionAttributes): Promise<void> {
    const objects = new RequestObjects(attributes, this.#modules);
    const invocations = [];
    for (const [index, hook] of hooks.entries()) {
      const selected = await this.#dispatch.select(hook, index, attributes, objects);
      if (selected !== undefined) invocations.push(selected);
    }
    const context = { attributes, objects, tenant, round: 0 };
    const results = await Promise.allSettled(invocations.map((hook) => this.#dispatch.call(hook, context)));
    // Of several denials the first in configuration order is reported.
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }
}
