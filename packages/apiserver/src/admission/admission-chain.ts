import {
  decodeManagedFieldsIncrementally,
  deepEqual,
  errorText,
  type Json,
  type KubeObject,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { RequestWork, traced } from '@multiplane/component-base';
import { ReinvocationContext } from './reinvocation-context.ts';
import type { AdmissionAttributes, AdmissionPlugin } from './plugin.ts';

type Operation = AdmissionAttributes['operation'];
type Mutating = Required<Pick<AdmissionPlugin, 'admit'>>;
type Validating = Required<Pick<AdmissionPlugin, 'validate'>>;

/** The plugins for an operation on a kind. */
interface PluginSet {
  readonly mutating: readonly Mutating[];
  readonly validating: readonly Validating[];
}

/**
 * Runs all plugins in order: every mutating plugin before validation, every validating plugin within the write
 * transaction. The first error ends the write. The plugins for a definition and operation are computed once.
 */
export class AdmissionChain {
  readonly #plugins: readonly AdmissionPlugin[];
  readonly #cache = new WeakMap<ResourceDefinition, Map<Operation, PluginSet>>();

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.#plugins = plugins;
  }

  /** Returns undefined if every plugin completed synchronously. */
  admit(attributes: AdmissionAttributes): Promise<void> | undefined {
    return traced('mutating admission', () => this.#admit(attributes));
  }

  #admit(attributes: AdmissionAttributes): Promise<void> | undefined {
    const before = attributes.object?.metadata.managedFields;
    const pending = runRound(this.#pluginsFor(attributes).mutating, attributes, new ReinvocationContext());
    if (pending !== undefined) return pending.then(() => checkManagedFields(attributes, before));
    return checkManagedFields(attributes, before);
  }

  /** As {@link admit}. */
  validate(attributes: AdmissionAttributes): Promise<void> | undefined {
    return traced('validating admission', () =>
      runInOrder(this.#pluginsFor(attributes).validating, (plugin) => plugin.validate(attributes)),
    );
  }

  #pluginsFor({ definition, operation }: AdmissionAttributes): PluginSet {
    let plans = this.#cache.get(definition);
    if (plans === undefined) this.#cache.set(definition, (plans = new Map<Operation, PluginSet>()));
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

/** Runs all mutating plugins, and once more if one of them requested a reinvocation. */
function runRound(
  plugins: readonly Mutating[],
  attributes: AdmissionAttributes,
  round: ReinvocationContext,
): Promise<void> | undefined {
  const reinvoke = (): Promise<void> | undefined =>
    round.startReinvocation() ? runRound(plugins, attributes, round) : undefined;
  const pending = runInOrder(plugins, (plugin) => plugin.admit(attributes, round));
  return pending === undefined ? reinvoke() : pending.then(reinvoke);
}

/** Calls plugins in order, starting at `from`. Only waits for plugins that return a promise. */
function runInOrder<P>(
  plugins: readonly P[],
  call: (plugin: P) => Promise<void> | undefined,
  from = 0,
): Promise<void> | undefined {
  for (let index = from; index < plugins.length; index++) {
    const pending = call(plugins[index] as P);
    if (pending !== undefined) return pending.then(() => runInOrder(plugins, call, index + 1));
  }
  return undefined;
}

/**
 * A plugin that leaves invalid managedFields does not lose them: the previous value is restored
 * (k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager/admission.go).
 */
function checkManagedFields(attributes: AdmissionAttributes, before: unknown): Promise<void> | undefined {
  const { object } = attributes;
  if (object === undefined || object.metadata.managedFields === before) return undefined;
  return checkChangedFields(attributes, object, before);
}

async function checkChangedFields(attributes: AdmissionAttributes, object: KubeObject, before: unknown): Promise<void> {
  // managedFields may be as large as the object.
  const { warn, work = new RequestWork() } = attributes;
  const { metadata } = object;
  await work.pause();
  if (deepEqual(metadata.managedFields, before as Json | undefined)) {
    // What is decoded and encoded already stays known by its identity.
    if (before !== undefined) (metadata as Record<string, unknown>)['managedFields'] = before;
    return;
  }
  try {
    await work.run(decodeManagedFieldsIncrementally(metadata.managedFields));
  } catch (error) {
    if (before === undefined) delete metadata.managedFields;
    else (metadata as Record<string, unknown>)['managedFields'] = before;
    warn(
      `.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: ${errorText(error)}`,
    );
  }
}
