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

  /** No promise when every plugin was over at once. */
  admit(attributes: AdmissionAttributes): Promise<void> | undefined {
    const before = attributes.object?.metadata.managedFields;
    const pending = runRound(this.#plan(attributes).mutating, attributes, new AdmissionRound());
    if (pending !== undefined) return pending.then(() => checkManagedFields(attributes, before));
    checkManagedFields(attributes, before);
    return undefined;
  }

  /** As {@link admit}. */
  validate(attributes: AdmissionAttributes): Promise<void> | undefined {
    return inTurn(this.#plan(attributes).validating, (plugin) => plugin.validate(attributes));
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

/** One round, and the next if there must be one. */
function runRound(
  plugins: readonly Mutating[],
  attributes: AdmissionAttributes,
  round: AdmissionRound,
): Promise<void> | undefined {
  const again = (): Promise<void> | undefined => (round.next() ? runRound(plugins, attributes, round) : undefined);
  const pending = inTurn(plugins, (plugin) => plugin.admit(attributes, round));
  return pending === undefined ? again() : pending.then(again);
}

/** Asks plugins in their order, from one on. Waits only for those who promise something. */
function inTurn<P>(
  plugins: readonly P[],
  ask: (plugin: P) => Promise<void> | undefined,
  from = 0,
): Promise<void> | undefined {
  for (let index = from; index < plugins.length; index++) {
    const pending = ask(plugins[index] as P);
    if (pending !== undefined) return pending.then(() => inTurn(plugins, ask, index + 1));
  }
  return undefined;
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
