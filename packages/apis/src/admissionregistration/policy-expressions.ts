import { type DeepReadonly, type Json, type KubeObject } from '@multiplane/apimachinery';
import { celTypes, type CelEnvironment, type CelType } from '@multiplane/schema';
import { at, listAt, objectAt, textAt } from '../fields.ts';
import {
  admissionEnvironment,
  compileAdmissionExpression,
  type AdmissionExpression,
  type WantedTypes,
} from './admission-expressions.ts';

/** An expression under a name. */
export interface NamedExpression {
  readonly name: string;
  readonly expression: AdmissionExpression;
}

export interface ValidationExpressions {
  readonly expression: AdmissionExpression;
  readonly messageExpression: AdmissionExpression | undefined;
  /** Trimmed; empty: none. */
  readonly message: string;
  readonly reason: string;
}

export interface MutationExpression {
  readonly type: 'ApplyConfiguration' | 'JSONPatch';
  readonly expression: AdmissionExpression;
}

/** The expressions of a policy, in the order in which they stand there. */
export interface PolicyExpressions {
  readonly matchConditions: readonly NamedExpression[];
  readonly variables: readonly NamedExpression[];
  readonly validations: readonly ValidationExpressions[];
  readonly auditAnnotations: readonly NamedExpression[];
  readonly mutations: readonly (MutationExpression | undefined)[];
}

const bool: WantedTypes = ['bool'];

/** Compiles `matchConditions` of a webhook or policy. */
export function compileMatchConditions(
  conditions: readonly Json[],
  names: { readonly params: boolean; readonly object?: CelType | undefined },
): NamedExpression[] {
  const environment = admissionEnvironment({ ...names, authorizer: true });
  return named(conditions, environment, 'expression', bool);
}

/** Compiles all expressions of a policy of either kind (K6.6, K6.7). `object`: the type of what it is about, if known. */
export function compilePolicy(policy: DeepReadonly<KubeObject>, object?: CelType): PolicyExpressions {
  const params = at(policy, 'spec', 'paramKind') !== undefined;
  const patches = at(policy, 'spec', 'mutations') !== undefined;
  const variables = new Map<string, CelType>();
  const own: NamedExpression[] = [];
  for (const variable of listAt(policy, 'spec', 'variables')) {
    const name = textAt(variable, 'name');
    const environment = admissionEnvironment({ params, authorizer: true, variables, patches, object });
    const expression = compileAdmissionExpression(textAt(variable, 'expression'), environment, undefined);
    own.push({ name, expression });
    // Later ones may use it; one that does not compile is complained about once, at its own place.
    variables.set(name, expression.program?.type ?? celTypes.dynType);
  }
  const environment = admissionEnvironment({ params, authorizer: true, variables, patches, object });
  const ofMessages = admissionEnvironment({ params, authorizer: false, variables, object });
  return {
    matchConditions: compileMatchConditions(listAt(policy, 'spec', 'matchConditions'), { params, object }),
    variables: own,
    validations: listAt(policy, 'spec', 'validations').map((validation) => ({
      expression: compileAdmissionExpression(textAt(validation, 'expression'), environment, bool),
      messageExpression:
        textAt(validation, 'messageExpression').trim() === ''
          ? undefined
          : compileAdmissionExpression(textAt(validation, 'messageExpression'), ofMessages, ['string']),
      message: textAt(validation, 'message').trim(),
      reason: textAt(validation, 'reason'),
    })),
    auditAnnotations: named(listAt(policy, 'spec', 'auditAnnotations'), environment, 'valueExpression', [
      'string',
      'null',
    ]),
    mutations: listAt(policy, 'spec', 'mutations').map((mutation) => mutationOf(mutation, environment)),
  };
}

function mutationOf(mutation: Json, environment: CelEnvironment): MutationExpression | undefined {
  const type = textAt(mutation, 'patchType');
  if (type !== 'ApplyConfiguration' && type !== 'JSONPatch') return undefined;
  const [field, wanted] =
    type === 'ApplyConfiguration' ? ['applyConfiguration', 'Object'] : ['jsonPatch', 'list(JSONPatch)'];
  const patch = objectAt(mutation, field);
  if (patch === undefined) return undefined;
  return { type, expression: compileAdmissionExpression(textAt(patch, 'expression'), environment, [wanted]) };
}

const named = (
  sources: readonly Json[],
  environment: CelEnvironment,
  field: 'expression' | 'valueExpression',
  wanted: WantedTypes,
): NamedExpression[] =>
  sources.map((source) => ({
    name: textAt(source, field === 'expression' ? 'name' : 'key'),
    expression: compileAdmissionExpression(textAt(source, field), environment, wanted),
  }));
