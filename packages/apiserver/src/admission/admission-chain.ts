import { decodeManagedFields, deepEqual, errorText, type Json } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { AdmissionRound } from './admission-round.ts';
import type { AdmissionAttributes, AdmissionPlugin } from './plugin.ts';

type Operation = AdmissionAttributes['operation'];
type Mutating = Required<Pick<AdmissionPlugin, 'admit'>>;
type Validating = Required<Pick<AdmissionPlugin, 'validate'>>;

/** Who has a say about an operation on a kind. */
interface Plan {
  readonly mutating: readonly Mutating[];
  readonly validating: readonly Validating[];
}

/**
 * All plugins in their order (K6.1): every mutating one before anything is validated, every validating one inside the
 * write transaction. The first refusal ends the write. Which of them are concerned is found out once per definition and
 * operation.
 */
export class AdmissionChain {
  readonly #plugins: readonly AdmissionPlugin[];
  readonly #plans = new WeakMap<ResourceDefinition, Map<Operation, Plan>>();

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.#plugins = plugins;
  }

  async admit(attributes: AdmissionAttributes): Promise<void> {
    const managedFields = attributes.object?.metadata.managedFields;
    const { mutating } = this.#plan(attributes);
    const round = new AdmissionRound();
    do {
      for (const plugin of mutating) {
        const pending = plugin.admit(attributes, round);
        if (pending !== undefined) await pending;
      }
    } while (round.next());
    checkManagedFields(attributes, managedFields);
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    for (const plugin of this.#plan(attributes).validating) {
      const pending = plugin.validate(attributes);
      if (pending !== undefined) await pending;
    }
  }

  #plan({ definition, operation }: AdmissionAttributes): Plan {
    let plans = this.#plans.get(definition);
    if (plans === undefined) this.#plans.set(definition, (plans = new Map<Operation, Plan>()));
    let plan = plans.get(operation);
    if (plan === undefined) {
      const concerned = this.#plugins.filter(
        (plugin) => plugin.handles(operation) && plugin.concerns?.(definition) !== false,
      );
      plan = {
        mutating: concerned.filter((plugin): plugin is AdmissionPlugin & Mutating => plugin.admit !== undefined),
        validating: concerned.filter((plugin): plugin is AdmissionPlugin & Validating => plugin.validate !== undefined),
      };
      plans.set(operation, plan);
    }
    return plan;
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
