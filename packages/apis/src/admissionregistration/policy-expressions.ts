import {
  fieldErrors,
  type DeepReadonly,
  type FieldError,
  type FieldPath,
  type Json,
  type KubeObject,
} from '@multiplane/apimachinery';
import { celTypes, type CelEnvironment, type CelType } from '@multiplane/schema';
import { at, listAt, objectAt, textAt } from '../fields.ts';
import {
  admissionEnvironment,
  AdmissionExpression,
  type AdmissionNames,
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

/** Types of the variables declared before a place, each inferred lazily. */
class VariableTypes extends Map<string, CelType> {
  readonly #expressions = new Map<string, AdmissionExpression>();

  constructor(variables: readonly NamedExpression[]) {
    // One without an expression is not declared.
    const declared = variables.filter(({ expression }) => expression.source.trim() !== '');
    super(declared.map(({ name }) => [name, celTypes.dynType]));
    // Of two with one name the later one counts.
    for (const { name, expression } of declared) this.#expressions.set(name, expression);
  }

  override get(name: string): CelType | undefined {
    const expression = this.#expressions.get(name);
    // One that does not compile is complained about at its own place.
    return expression === undefined ? undefined : (expression.program?.type ?? celTypes.dynType);
  }
}

/** Variables of a policy; each may use those before it. */
export function compileVariables(
  sources: readonly { readonly name: string; readonly source: string }[],
  names: Omit<AdmissionNames, 'variables' | 'authorizer'>,
): NamedExpression[] {
  const own: NamedExpression[] = [];
  for (const [index, { name, source }] of sources.entries()) {
    const environment = (): CelEnvironment =>
      admissionEnvironment({ ...names, authorizer: true, variables: new VariableTypes(own.slice(0, index)) });
    own.push({ name, expression: new AdmissionExpression(source, environment, undefined) });
  }
  return own;
}

/** The names that a policy's expressions may use beside its variables; without `variables`, match conditions. */
export function policyEnvironment(
  variables: readonly NamedExpression[] | undefined,
  names: Omit<AdmissionNames, 'variables'>,
): () => CelEnvironment {
  let environment: CelEnvironment | undefined;
  return () =>
    (environment ??= admissionEnvironment({
      ...names,
      variables: variables === undefined ? undefined : new VariableTypes(variables),
    }));
}

/** `matchConditions` of a webhook or policy. */
export const compileMatchConditions = (
  conditions: readonly Json[],
  names: { readonly params: boolean; readonly object?: CelType | undefined },
): NamedExpression[] =>
  named(conditions, policyEnvironment(undefined, { ...names, authorizer: true }), 'expression', bool);

/** All expressions of a policy of either kind. `object`: the type of what it is about, if known. */
export function compilePolicy(policy: DeepReadonly<KubeObject>, object?: CelType): PolicyExpressions {
  const params = at(policy, 'spec', 'paramKind') !== undefined;
  const patches = at(policy, 'spec', 'mutations') !== undefined;
  const sources = listAt(policy, 'spec', 'variables').map((variable) => ({
    name: textAt(variable, 'name'),
    source: textAt(variable, 'expression'),
  }));
  const variables = compileVariables(sources, { params, patches, object });
  // A validating policy without variables has no `variables`; a mutating one has it in any case.
  const declared = variables.length > 0 || patches ? variables : undefined;
  const environment = policyEnvironment(declared, { params, authorizer: true, patches, object });
  // The type checker declares the authorizer everywhere.
  const ofMessages = policyEnvironment(declared, { params, authorizer: object !== undefined, object });
  return {
    matchConditions: compileMatchConditions(listAt(policy, 'spec', 'matchConditions'), { params, object }),
    variables,
    validations: listAt(policy, 'spec', 'validations').map((validation) => ({
      expression: new AdmissionExpression(textAt(validation, 'expression'), environment, bool),
      messageExpression:
        textAt(validation, 'messageExpression').trim() === ''
          ? undefined
          : new AdmissionExpression(textAt(validation, 'messageExpression'), ofMessages, ['string']),
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

function mutationOf(mutation: Json, environment: () => CelEnvironment): MutationExpression | undefined {
  const type = textAt(mutation, 'patchType');
  if (type !== 'ApplyConfiguration' && type !== 'JSONPatch') return undefined;
  const [field, wanted] =
    type === 'ApplyConfiguration' ? ['applyConfiguration', 'Object'] : ['jsonPatch', 'list(JSONPatch)'];
  const patch = objectAt(mutation, field);
  if (patch === undefined) return undefined;
  return { type, expression: new AdmissionExpression(textAt(patch, 'expression'), environment, [wanted]) };
}

const named = (
  sources: readonly Json[],
  environment: () => CelEnvironment,
  field: 'expression' | 'valueExpression',
  wanted: WantedTypes,
): NamedExpression[] =>
  sources.map((source) => ({
    name: textAt(source, field === 'expression' ? 'name' : 'key'),
    expression: new AdmissionExpression(textAt(source, field), environment, wanted),
  }));

/** Expressions of a policy, or conditions of a configuration of webhooks, that can be compiled without holding others up. */
const quickExpressions = 20;
const quickBytes = 8 * 1024;
/** What a policy may have of them. */
const maxExpressions = 1000;
const maxBytes = 256 * 1024;
/** Each may use those before it: what uses the last may lead through all of them. */
const maxVariables = 100;

interface Weight {
  readonly expressions: number;
  readonly bytes: number;
}

function weightOf(object: DeepReadonly<KubeObject>): Weight {
  const spec = at(object, 'spec');
  const texts = [
    ...['matchConditions', 'variables', 'validations'].flatMap((field) =>
      listAt(spec, field).map((item) => textAt(item, 'expression') + textAt(item, 'messageExpression')),
    ),
    ...listAt(spec, 'auditAnnotations').map((item) => textAt(item, 'valueExpression')),
    ...listAt(spec, 'mutations').flatMap((item) => [
      textAt(item, 'applyConfiguration', 'expression'),
      textAt(item, 'jsonPatch', 'expression'),
    ]),
    ...listAt(object, 'webhooks').flatMap((webhook) =>
      listAt(webhook, 'matchConditions').map((condition) => textAt(condition, 'expression')),
    ),
  ].filter((text) => text !== '');
  return { expressions: texts.length, bytes: texts.reduce((sum, text) => sum + text.length, 0) };
}

/** Whether the expressions of an object are compiled in a worker when it is written. */
export function hasManyExpressions(object: DeepReadonly<KubeObject>): boolean {
  const { expressions, bytes } = weightOf(object);
  return expressions > quickExpressions || bytes > quickBytes;
}

/** Programs take memory, a hundred times what their text does: there is an end to it. */
export function expressionLimitErrors(object: DeepReadonly<KubeObject>, path: FieldPath): FieldError[] {
  const { expressions, bytes } = weightOf(object);
  const variables = listAt(object, 'spec', 'variables').length;
  return [
    ...(variables > maxVariables ? [fieldErrors.tooMany(path.child('variables'), variables, maxVariables)] : []),
    ...(expressions > maxExpressions ? [fieldErrors.tooMany(path, expressions, maxExpressions)] : []),
    ...(bytes > maxBytes ? [fieldErrors.tooLong(path, maxBytes)] : []),
  ];
}
