import {
  type Json,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
  StatusError,
  applyJsonPatch,
  asJson,
  deepCopy,
  deducedSchema,
  deepEqual,
  errorText,
  isJsonObject,
  isStatusError,
} from '@multiplane/apimachinery';
import type { MutationExpression, ResourceDefinition } from '@multiplane/apis';
import { CelError, jsonOfValue, type CelValue } from '@multiplane/schema';
import type { ReinvocationContext } from '../reinvocation-context.ts';
import { PluginReinvocations } from '../plugin-reinvocations.ts';
import { checkScale, kindOfRequest, RequestObjects, scaleOfRequest, type RequestKind } from '../request-objects.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../plugin.ts';
import { MutationError, withConfiguration } from './apply-configuration.ts';
import { PolicyDispatcher, type PolicyInvocation, type PolicyModules } from './policy-dispatcher.ts';

export interface MutatingPolicyModules extends PolicyModules {
  /** Conforms a changed object to the schema of its kind; returns the paths of unknown fields. */
  readonly conform: (document: JsonObject, kind: RequestKind) => readonly string[];
}

/**
 * MutatingAdmissionPolicies: each policy changes the object as left by earlier ones, by apply configurations or JSON
 * patches. A change of the object reinvokes all plugins once, with the policies whose reinvocation policy is IfNeeded.
 */
export class MutatingPolicies implements AdmissionPlugin {
  readonly name: string;
  readonly #modules: MutatingPolicyModules;
  readonly #dispatch: PolicyDispatcher;

  constructor(options: { readonly name?: string | undefined }, modules: MutatingPolicyModules) {
    this.name = options.name ?? 'MutatingAdmissionPolicy';
    this.#modules = modules;
    this.#dispatch = new PolicyDispatcher(modules);
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  admit(attributes: AdmissionAttributes, round: ReinvocationContext): Promise<void> | undefined {
    const cluster = this.#dispatch.policyCluster(attributes);
    return cluster === undefined ? undefined : this.#admitAll(cluster, attributes, round);
  }

  async #admitAll(
    cluster: LogicalClusterName,
    attributes: AdmissionAttributes,
    round: ReinvocationContext,
  ): Promise<void> {
    const objects = new RequestObjects(attributes, this.#modules);
    const reinvocations = round.pluginState(this.name, () => new PluginReinvocations());
    reinvocations.startRound(round, attributes.object);
    const failures: string[] = [];
    for await (const invocation of this.#dispatch.invocations(cluster, attributes)) {
      const { policy, binding } = invocation;
      let problem: string | undefined;
      if ('problem' in invocation) {
        ({ problem } = invocation);
      } else {
        const { metadata } = invocation.param ?? {};
        const key = `${policy.name}/${binding.name}/${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;
        if (!reinvocations.shouldInvoke(round, key)) continue;
        const changed = await this.#mutate(invocation, attributes, objects);
        if (typeof changed === 'string') problem = changed;
        else if (changed) reinvocations.onObjectChanged(round);
        if (policy.isReinvocable) reinvocations.allowReinvocation(key);
      }
      if (problem !== undefined && !policy.ignoresFailure)
        failures.push(`policy '${policy.name}' with binding '${binding.name}' denied request: ${problem}`);
    }
    reinvocations.endRound(attributes.object);
    if (failures.length > 0) throw denial(attributes, failures);
  }

  /** Applies the mutations of a policy, all or none. Returns whether the object changed, or an error message. */
  async #mutate(
    invocation: PolicyInvocation,
    attributes: AdmissionAttributes,
    objects: RequestObjects,
  ): Promise<boolean | string> {
    const { policy, definition } = invocation;
    const before = await objects.object(definition);
    if (before === undefined) return false;
    const original = deepCopy(asJson(before as KubeObject));
    const undo = async (): Promise<void> => objects.replace(definition, original as unknown as KubeObject);
    let changed = false;
    for (const [index, mutation] of policy.expressions.mutations.entries()) {
      const evaluation = await this.#dispatch.evaluation(invocation, attributes, objects, {
        conditionsEvaluated: index > 0,
      });
      if (evaluation === undefined) break;
      let problem: string | undefined;
      if (typeof evaluation === 'string') problem = evaluation;
      else if (mutation !== undefined) {
        const { value, error } = await evaluation.evaluate(mutation.expression);
        if (error === undefined) {
          const outcome = await this.#applyMutation(mutation, value, definition, { attributes, objects });
          if (typeof outcome === 'string') problem = outcome;
          else changed ||= outcome;
        } else problem = error;
      }
      if (problem === undefined) continue;
      if (changed) await undo();
      return problem;
    }
    return changed;
  }

  async #applyMutation(
    { type }: MutationExpression,
    value: CelValue,
    definition: ResourceDefinition,
    { attributes, objects }: { readonly attributes: AdmissionAttributes; readonly objects: RequestObjects },
  ): Promise<boolean | string> {
    const isScale = scaleOfRequest(attributes, definition) !== undefined;
    const kind = kindOfRequest(attributes, definition);
    const before = asJson((await objects.object(definition)) as KubeObject);
    let after: Json | undefined;
    try {
      after =
        type === 'ApplyConfiguration'
          ? withConfiguration(before, value, isScale ? deducedSchema : kind.schema.typed)
          : applyPatch(before, value);
    } catch (error) {
      if (!(error instanceof MutationError)) throw error;
      return error.message;
    }
    if (after === undefined) return false;
    if (!isJsonObject(after)) return 'the patched document is not an object';
    const document = deepCopy(after);
    try {
      if (isScale) checkScale(document);
      const unknown = isScale ? [] : this.#modules.conform(document, kind);
      if (unknown.length > 0)
        return `strict decoding error: ${unknown.map((path) => `unknown field ${JSON.stringify(path)}`).join(', ')}`;
    } catch (error) {
      return errorText(error);
    }
    if (deepEqual(before, document)) return false;
    await objects.replace(definition, document as unknown as KubeObject);
    return true;
  }
}

/** Applies a JSON patch; undefined if a `test` operation failed, which discards the whole patch. */
function applyPatch(before: JsonObject, value: CelValue): Json | undefined {
  try {
    return applyJsonPatch(before, jsonOfValue(value));
  } catch (error) {
    if (isStatusError(error)) {
      // The cause describes the invalid patch.
      const why = errorText(error.cause ?? error);
      if (why.endsWith('test failed')) return undefined;
      throw new MutationError(`JSON Patch: ${why}`, { cause: error });
    }
    if (error instanceof CelError) throw new MutationError(error.message, { cause: error });
    throw error;
  }
}

/** The error of a denied request: 403 with the messages of the policies. */
function denial({ definition, name, object }: AdmissionAttributes, failures: readonly string[]): StatusError {
  const shown = name === '' ? (object?.metadata.name ?? '') : name;
  return new StatusError({
    code: 403,
    reason: 'Forbidden',
    message: failures.length === 1 ? (failures[0] as string) : `[${failures.join(', ')}]`,
    details: {
      ...(shown === '' ? {} : { name: shown }),
      ...(definition.group === '' ? {} : { group: definition.group }),
      kind: definition.resource,
      causes: failures.map((message) => ({ message })),
    },
  });
}
