import type { AdmissionAttributes, AdmissionPlugin } from './plugin.ts';

/**
 * All plugins in their order (K6.1): every mutating one before anything is validated, every validating one inside the
 * write transaction. The first refusal ends the write.
 */
export class AdmissionChain {
  readonly #plugins: readonly AdmissionPlugin[];

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.#plugins = plugins;
  }

  async admit(attributes: AdmissionAttributes): Promise<void> {
    for (const plugin of this.#plugins) {
      if (plugin.admit !== undefined && plugin.handles(attributes.operation)) await plugin.admit(attributes);
    }
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    for (const plugin of this.#plugins) {
      if (plugin.validate !== undefined && plugin.handles(attributes.operation)) await plugin.validate(attributes);
    }
  }
}
