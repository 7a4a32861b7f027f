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
import type { AdmissionRound } from '../admission-round.ts';
import { Reinvocations } from '../reinvocations.ts';
import { checkScale, kindOfRequest, RequestObjects, scaleOfRequest, type RequestKind } from '../request-objects.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../plugin.ts';
import { MutationError, withConfiguration } from './apply-configuration.ts';
import { PolicyDispatch, type PolicyInForce, type PolicyModules } from './policy-dispatch.ts';

export interface MutatingPolicyModules extends PolicyModules {
  /** Brings a changed object into the shape of its kind; returns fields that the kind does not have. */
  readonly shape: (document: JsonObject, kind: RequestKind) => readonly string[];
}

/**
 * MutatingAdmissionPolicies (K6.7): each policy in force changes what those before it have left, by configurations that
 * are merged into the object or by JSON patches. When one of them changed something all is done once more, with those
 * that want to see what was changed after their turn.
 */
export class MutatingPolicies implements AdmissionPlugin {
  readonly name: string;
  readonly #modules: MutatingPolicyModules;
  readonly #dispatch: PolicyDispatch;

  constructor(options: { readonly name?: string | undefined }, modules: MutatingPolicyModules) {
    this.name = options.name ?? 'MutatingAdmissionPolicy';
    this.#modules = modules;
    this.#dispatch = new PolicyDispatch(modules);
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  admit(attributes: AdmissionAttributes, round: AdmissionRound): Promise<void> | undefined {
    const cluster = this.#dispatch.clusterOf(attributes);
    return cluster === undefined ? undefined : this.#admitBy(cluster, attributes, round);
  }

  async #admitBy(cluster: LogicalClusterName, attributes: AdmissionAttributes, round: AdmissionRound): Promise<void> {
    const objects = new RequestObjects(attributes, this.#modules);
    const reinvocations = round.state(this.name, () => new Reinvocations());
    reinvocations.begin(round, attributes.object);
    const failures: string[] = [];
    for await (const found of this.#dispatch.inForce(cluster, attributes)) {
      const { policy, binding } = found;
      let problem: string | undefined;
      if ('problem' in found) {
        ({ problem } = found);
      } else {
        const { metadata } = found.param ?? {};
        const key = `${policy.name}/${binding.name}/${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;
        if (!reinvocations.isTurnOf(round, key)) continue;
        const changed = await this.#mutate(found, attributes, objects);
        if (typeof changed === 'string') problem = changed;
        else if (changed) reinvocations.changed(round);
        if (policy.reinvoked) reinvocations.add(key);
      }
      if (problem !== undefined && !policy.ignoresFailure)
        failures.push(`policy '${policy.name}' with binding '${binding.name}' denied request: ${problem}`);
    }
    reinvocations.end(attributes.object);
    if (failures.length > 0) throw refusal(attributes, failures);
  }

  /** Whether the policy changed the object, or why it cannot be told. A policy changes everything it wants or nothing. */
  async #mutate(
    found: PolicyInForce,
    attributes: AdmissionAttributes,
    objects: RequestObjects,
  ): Promise<boolean | string> {
    const { policy, definition } = found;
    const before = await objects.object(definition);
    if (before === undefined) return false;
    const original = deepCopy(asJson(before as KubeObject));
    const undo = async (): Promise<void> => objects.replace(definition, original as unknown as KubeObject);
    let changed = false;
    for (const [index, mutation] of policy.expressions.mutations.entries()) {
      const evaluation = await this.#dispatch.evaluation(found, attributes, objects, { judged: index > 0 });
      if (evaluation === undefined) break;
      let problem: string | undefined;
      if (typeof evaluation === 'string') problem = evaluation;
      else if (mutation !== undefined) {
        const { value, error } = await evaluation.evaluate(mutation.expression);
        if (error === undefined) {
          const outcome = await this.#change(mutation, value, definition, { attributes, objects });
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

  async #change(
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
          : patched(before, value);
    } catch (error) {
      if (!(error instanceof MutationError)) throw error;
      return error.message;
    }
    if (after === undefined) return false;
    if (!isJsonObject(after)) return 'the patched document is not an object';
    const document = deepCopy(after);
    try {
      if (isScale) checkScale(document);
      const unknown = isScale ? [] : this.#modules.shape(document, kind);
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

/** The object after a JSON patch; undefined: one of its tests failed, then nothing of it counts. */
function patched(before: JsonObject, value: CelValue): Json | undefined {
  try {
    return applyJsonPatch(before, jsonOfValue(value));
  } catch (error) {
    if (isStatusError(error)) {
      // What was wrong with a patch its cause says.
      const why = errorText(error.cause ?? error);
      if (why.endsWith('test failed')) return undefined;
      throw new MutationError(`JSON Patch: ${why}`, { cause: error });
    }
    if (error instanceof CelError) throw new MutationError(error.message, { cause: error });
    throw error;
  }
}

/** 403 with nothing but what the policies say (K6.7). */
function refusal({ definition, name, object }: AdmissionAttributes, failures: readonly string[]): StatusError {
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
