import { decodeManagedFields, deepEqual, errorText, type Json } from '@multiplane/apimachinery';
import { AdmissionRound } from './admission-round.ts';
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
    const managedFields = attributes.object?.metadata.managedFields;
    const round = new AdmissionRound();
    do {
      for (const plugin of this.#plugins) {
        if (plugin.admit !== undefined && plugin.handles(attributes.operation)) await plugin.admit(attributes, round);
      }
    } while (round.next());
    checkManagedFields(attributes, managedFields);
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    for (const plugin of this.#plugins) {
      if (plugin.validate !== undefined && plugin.handles(attributes.operation)) await plugin.validate(attributes);
    }
  }
}

/** Who owns which field no plugin may make unreadable: then what was there before counts (K6.1). */
function checkManagedFields({ object, warn }: AdmissionAttributes, before: unknown): void {
  if (object === undefined) return;
  const { metadata } = object;
  if (metadata.managedFields === before) return;
  if (deepEqual(metadata.managedFields ?? null, (before ?? null) as Json)) return;
  try {
    decodeManagedFields(metadata.managedFields);
  } catch (error) {
    if (before === undefined) delete metadata.managedFields;
    else (metadata as Record<string, unknown>)['managedFields'] = before;
    warn(
      `.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: ${errorText(error)}`,
    );
  }
}
