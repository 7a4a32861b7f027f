import { encodeJson, StatusError, type LogicalClusterName } from '@multiplane/apimachinery';
import type { ValidationExpressions } from '@multiplane/apis';
import type { AdmissionEvaluation } from '../admission-evaluation.ts';
import { admissionForbidden } from '../forbidden.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../plugin.ts';
import { RequestObjects } from '../request-objects.ts';
import { PolicyDispatcher, type PolicyInvocation, type PolicyModules } from './policy-dispatcher.ts';

/** A failed validation of a policy. */
interface Failure {
  readonly policy: string;
  readonly binding: string;
  readonly message: string;
  readonly reason: string;
  /** Index of the validation within the policy. */
  readonly index: number;
  readonly actions: readonly string[];
}

/** Limits of messages and audit annotations, in bytes. */
const maxMessage = 5 * 1024;
const maxAnnotation = 10 * 1024;

const codes: Readonly<Record<string, number>> = {
  Unauthorized: 401,
  Forbidden: 403,
  RequestEntityTooLarge: 413,
  Invalid: 422,
};

/**
 * ValidatingAdmissionPolicies: every applicable policy is evaluated completely, the actions of its bindings are applied
 * to each failure, and the first denial is returned to the client.
 */
export class ValidatingPolicies implements AdmissionPlugin {
  readonly name: string;
  readonly #modules: PolicyModules;
  readonly #dispatch: PolicyDispatcher;

  constructor(options: { readonly name?: string | undefined }, modules: PolicyModules) {
    this.name = options.name ?? 'ValidatingAdmissionPolicy';
    this.#modules = modules;
    this.#dispatch = new PolicyDispatcher(modules);
  }

  handles(): boolean {
    return true;
  }

  validate(attributes: AdmissionAttributes): Promise<void> | undefined {
    const cluster = this.#dispatch.policyCluster(attributes);
    return cluster === undefined ? undefined : this.#validateBy(cluster, attributes);
  }

  async #validateBy(cluster: LogicalClusterName, attributes: AdmissionAttributes): Promise<void> {
    const objects = new RequestObjects(attributes, this.#modules);
    const denials: Failure[] = [];
    const audited: Failure[] = [];
    const annotations = new Map<string, Set<string>>();
    for await (const invocation of this.#dispatch.invocations(cluster, attributes)) {
      const { policy, binding } = invocation;
      const failure = (message: string, reason = '', index = 0): Failure => ({
        policy: policy.name,
        binding: binding.name,
        message,
        reason,
        index,
        actions: binding.actions,
      });
      if ('problem' in invocation) {
        // A configuration error denies the request regardless of the binding's actions.
        if (!policy.ignoresFailure) denials.push(failure(invocation.problem));
        continue;
      }
      const matches = await this.#dispatch.matches(invocation, attributes, objects);
      if (matches === false) continue;
      const failures: Failure[] = [];
      if (typeof matches === 'string') {
        if (!policy.ignoresFailure) failures.push(failure(matches));
      } else {
        const evaluation = await this.#dispatch.evaluation(invocation, attributes, objects);
        failures.push(...(await validationFailures(invocation, evaluation, failure)));
        denials.push(...(await collectAnnotations(invocation, evaluation, annotations, failure)));
      }
      for (const one of failures) {
        if (binding.actions.includes('Deny')) denials.push(one);
        if (binding.actions.includes('Audit')) audited.push(one);
        if (binding.actions.includes('Warn')) {
          attributes.warn(
            `Validation failed for ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}': ${one.message}`,
          );
        }
      }
    }
    annotateAudit(attributes, audited, annotations);
    const [first] = denials;
    if (first !== undefined) throw denial(attributes, first);
  }
}

type MakeFailure = (message: string, reason?: string, index?: number) => Failure;

async function validationFailures(
  { policy }: PolicyInvocation,
  evaluation: AdmissionEvaluation,
  failure: MakeFailure,
): Promise<Failure[]> {
  const failures: Failure[] = [];
  for (const [index, validation] of policy.expressions.validations.entries()) {
    const outcome = await evaluation.evaluate(validation.expression);
    if (outcome.error !== undefined) {
      if (!policy.ignoresFailure) failures.push(failure(outcome.error, '', index));
    } else if (outcome.value !== true) {
      failures.push(failure(await messageOf(validation, evaluation), validation.reason, index));
    }
  }
  return failures;
}

/** A messageExpression that fails, or yields an invalid message, is ignored. */
async function messageOf(
  { expression, message, messageExpression }: ValidationExpressions,
  evaluation: AdmissionEvaluation,
): Promise<string> {
  if (messageExpression !== undefined) {
    const { value } = await evaluation.evaluate(messageExpression);
    if (typeof value === 'string') {
      const text = value.trim();
      if (text !== '' && Buffer.byteLength(text) <= maxMessage && !/[\r\n]/.test(text)) return text;
    }
  }
  return message === '' ? `failed expression: ${expression.source.trim()}` : message;
}

/** Collects audit annotations; a failing expression denies the request unless the failure policy is Ignore. */
async function collectAnnotations(
  { policy }: PolicyInvocation,
  evaluation: AdmissionEvaluation,
  annotations: Map<string, Set<string>>,
  failure: MakeFailure,
): Promise<Failure[]> {
  const failures: Failure[] = [];
  for (const { name, expression } of policy.expressions.auditAnnotations) {
    const outcome = await evaluation.evaluate(expression);
    if (outcome.error !== undefined) {
      if (!policy.ignoresFailure) failures.push(failure(outcome.error));
      continue;
    }
    if (typeof outcome.value !== 'string') continue;
    const key = `${policy.name}/${name}`;
    const text = outcome.value.trim().slice(0, maxAnnotation);
    const values = annotations.get(key);
    if (values === undefined) annotations.set(key, new Set([text]));
    else values.add(text);
  }
  return failures;
}

function annotateAudit(
  { annotate }: AdmissionAttributes,
  audited: readonly Failure[],
  annotations: ReadonlyMap<string, ReadonlySet<string>>,
): void {
  if (annotate === undefined) return;
  for (const [key, values] of annotations) annotate(key, Array.from(values).join(', '));
  if (audited.length === 0) return;
  annotate(
    'validation.policy.admission.k8s.io/validation_failure',
    encodeJson(
      audited.map(({ message, policy, binding, index, actions }) => ({
        message,
        policy,
        binding,
        expressionIndex: index,
        validationActions: [...actions],
      })),
    ),
  );
}

/** The error of a denied request: the message of Forbidden with the reason of the validation. */
function denial(attributes: AdmissionAttributes, { policy, binding, message, reason }: Failure): StatusError {
  const text = `ValidatingAdmissionPolicy '${policy}' with binding '${binding}' denied request: ${message}`;
  const { message: whole, details } = admissionForbidden(attributes, text, [{ message: text }]);
  const why = reason === '' ? 'Invalid' : reason;
  return new StatusError({
    code: Object.hasOwn(codes, why) ? (codes[why] as number) : 422,
    reason: why as StatusError['reason'],
    message: whole,
    ...(details === undefined ? {} : { details }),
  });
}
