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
import { RequestWork } from '@multiplane/component-base';
import { CelError, jsonPatchOfValue, type CelValue } from '@multiplane/schema';
import type { ReinvocationContext } from '../reinvocation-context.ts';
import { PluginReinvocations } from '../plugin-reinvocations.ts';
import { checkScale, kindOfRequest, RequestObjects, scaleOfRequest, type RequestKind } from '../request-objects.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../plugin.ts';
import { MutationError, withConfiguration } from './apply-configuration.ts';
import { PolicyDispatcher, type PolicyInvocation, type PolicyModules } from './policy-dispatcher.ts';

export interface MutatingPolicyModules extends PolicyModules {
  /** Conforms a changed object to the schema of its kind, in passes; returns the paths of unknown fields. */
  readonly conform: (document: JsonObject, kind: RequestKind, work: RequestWork) => Promise<readonly string[]>;
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
    await reinvocations.startRound(attributes, round);
    const failures: Failure[] = [];
    let mutated = false;
    // All are found before one changes the object: labels that it adds select no further policy in this round.
    const invocations = await Array.fromAsync(this.#dispatch.invocations(cluster, attributes));
    for (const invocation of invocations) {
      const { policy, binding } = invocation;
      const problems: Failure[] = [];
      if ('problem' in invocation) {
        problems.push({ message: invocation.problem, reason: 'Forbidden' });
      } else {
        const { metadata } = invocation.param ?? {};
        const key = `${policy.name}/${binding.name}/${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;
        // Also of policies that are not invoked again: their match conditions may fail for the changed object.
        const matches = await this.#dispatch.matches(invocation, attributes, objects);
        if (typeof matches === 'string') problems.push({ message: matches, reason: 'Invalid' });
        if (matches === true && reinvocations.shouldInvoke(round, key)) {
          const outcome = await this.#mutate(invocation, attributes, objects);
          problems.push(...outcome.problems.map((message): Failure => ({ message, reason: 'Invalid' })));
          if (outcome.changed) reinvocations.onObjectChanged(round);
          if (policy.isReinvocable) reinvocations.allowReinvocation(key);
          mutated ||= outcome.changed;
        }
      }
      if (policy.ignoresFailure) continue;
      const denied = `policy '${policy.name}' with binding '${binding.name}' denied request: `;
      failures.push(...problems.map(({ message, reason }) => ({ message: denied + message, reason })));
    }
    // The policies that changed the object are reinvoked as well, by their own change.
    if (mutated) reinvocations.onObjectChanged(round);
    await reinvocations.endRound(attributes, round);
    if (failures.length > 0) throw denial(attributes, failures);
  }

  /** Applies the mutations of a policy one by one; one that fails does not keep the others from being applied. */
  async #mutate(
    invocation: PolicyInvocation,
    attributes: AdmissionAttributes,
    objects: RequestObjects,
  ): Promise<{ readonly changed: boolean; readonly problems: readonly string[] }> {
    const { policy, definition } = invocation;
    const problems: string[] = [];
    let changed = false;
    if ((await objects.object(definition)) === undefined) return { changed, problems };
    for (const mutation of policy.expressions.mutations) {
      if (mutation === undefined) continue;
      const evaluation = await this.#dispatch.evaluation(invocation, attributes, objects);
      const { value, error } = await evaluation.evaluate(mutation.expression);
      const outcome = error ?? (await this.#applyMutation(mutation, value, definition, { attributes, objects }));
      if (typeof outcome === 'string') problems.push(outcome);
      else changed ||= outcome;
    }
    return { changed, problems };
  }

  async #applyMutation(
    mutation: MutationExpression,
    value: CelValue,
    definition: ResourceDefinition,
    { attributes, objects }: { readonly attributes: AdmissionAttributes; readonly objects: RequestObjects },
  ): Promise<boolean | string> {
    const before = asJson((await objects.object(definition)) as KubeObject);
    const document = await this.#mutated(mutation, value, before, {
      kind: kindOfRequest(attributes, definition),
      isScale: scaleOfRequest(attributes, definition) !== undefined,
      work: attributes.work ?? new RequestWork(),
    });
    if (document === undefined || typeof document === 'string') return document ?? false;
    await objects.replace(definition, document as unknown as KubeObject);
    return true;
  }

  /** The changed object, an error, or undefined if nothing changes. */
  async #mutated(
    { type }: MutationExpression,
    value: CelValue,
    before: JsonObject,
    { kind, isScale, work }: { readonly kind: RequestKind; readonly isScale: boolean; readonly work: RequestWork },
  ): Promise<JsonObject | string | undefined> {
    let after: Json | undefined;
    try {
      after =
        type === 'ApplyConfiguration'
          ? await withConfiguration(before, value, isScale ? deducedSchema : kind.schema.typed, work)
          : await applyPatch(before, value, work);
    } catch (error) {
      if (!(error instanceof MutationError)) throw error;
      return error.message;
    }
    if (after === undefined) return undefined;
    if (!isJsonObject(after)) return 'the patched document is not an object';
    await work.pause();
    const document = deepCopy(after);
    await work.pause();
    try {
      if (isScale) checkScale(document);
      const unknown = isScale ? [] : await this.#modules.conform(document, kind, work);
      if (unknown.length > 0)
        return `strict decoding error: ${unknown.map((path) => `unknown field ${JSON.stringify(path)}`).join(', ')}`;
    } catch (error) {
      return errorText(error);
    }
    await work.pause();
    return deepEqual(before, document) ? undefined : document;
  }
}

/** Applies a JSON patch; undefined if a `test` operation failed, which discards the whole patch. */
async function applyPatch(before: JsonObject, value: CelValue, work: RequestWork): Promise<Json | undefined> {
  try {
    const patch = jsonPatchOfValue(value);
    return await work.run(applyJsonPatch(before, patch));
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

interface Failure {
  readonly message: string;
  readonly reason: 'Forbidden' | 'Invalid';
}

/** The error of a denied request: 403 with the message and the reason of the first failure, and all of them as causes. */
function denial({ definition, name, object }: AdmissionAttributes, failures: readonly Failure[]): StatusError {
  const shown = name === '' ? (object?.metadata.name ?? '') : name;
  const [first] = failures as readonly [Failure];
  return new StatusError({
    code: 403,
    reason: first.reason,
    message: first.message,
    details: {
      ...(shown === '' ? {} : { name: shown }),
      ...(definition.group === '' ? {} : { group: definition.group }),
      kind: definition.resource,
      causes: failures.map(({ message }) => ({ message })),
    },
  });
}
