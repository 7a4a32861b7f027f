import {
  fieldErrors,
  FieldPath,
  isJsonObject,
  type DeepReadonly,
  type FieldError,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import { builtInKind, type BuiltInKind } from '../built-in-kind.ts';
import { defaultStrategy, keepField, statusSubresource } from '../default-strategy.ts';
import { at, listAt, objectAt, textAt, textsAt } from '../fields.ts';
import type { ResourceDefinition, Strategy, StrategyContext } from '../resource-definition.ts';
import { column, nameAgeTable } from '../tables/columns.ts';
import { choiceErrors, matchConditionErrors } from './match-conditions.ts';
import {
  auditAnnotationErrors,
  matchConstraintsErrors,
  matchResourcesErrors,
  mutationErrors,
  paramKindErrors,
  paramRefErrors,
  policyNameErrors,
  validationActionErrors,
  validationErrors,
  variableErrors,
} from './policy-validation.ts';
import { compilePolicy, expressionLimitErrors, type PolicyExpressions } from './policy-expressions.ts';
import { expressionsChecked } from './slow-expressions.ts';
import { admissionRegistrationGroup, apiExtensionsCategory } from './webhook-configurations.ts';

const spec = FieldPath.of('spec');

export function validatingAdmissionPolicies(): ResourceDefinition {
  const base = policyStrategy(validatingPolicyErrors);
  return policyKind('ValidatingAdmissionPolicy', 'validatingadmissionpolicies', {
    defaults: fillPolicyDefaults,
    strategy: {
      ...base,
      prepareForCreate: (_context, object) => void (object['status'] = {}),
      prepareForUpdate: (_context, object, old) => keepField(object, old, 'status'),
    },
    subresources: {
      // Unlike other endpoints of a status, this one creates what is applied to it.
      status: { ...statusSubresource(base, { validateUpdate: () => [] }), createsOnApply: true },
    },
    table: nameAgeTable(
      [
        column('Validations', { type: 'integer', description: 'Number of validations.' }),
        column('ParamKind', { description: 'Kind of the parameters.' }),
      ],
      (object) => [listAt(object, 'spec', 'validations').length, paramKindText(object)],
    ),
  });
}

export function mutatingAdmissionPolicies(): ResourceDefinition {
  return policyKind('MutatingAdmissionPolicy', 'mutatingadmissionpolicies', {
    defaults: fillPolicyDefaults,
    strategy: policyStrategy(mutatingPolicyErrors),
    table: nameAgeTable(
      [
        column('Mutations', { type: 'integer', description: 'Number of mutations.' }),
        column('ParamKind', { description: 'Kind of the parameters.' }),
      ],
      (object) => [listAt(object, 'spec', 'mutations').length, paramKindText(object)],
    ),
  });
}

export const validatingAdmissionPolicyBindings = (): ResourceDefinition =>
  bindings('ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings', (object) => [
    ...bindingErrors(object),
    ...validationActionErrors(at(object, 'spec'), spec.child('validationActions')),
  ]);

export const mutatingAdmissionPolicyBindings = (): ResourceDefinition =>
  bindings('MutatingAdmissionPolicyBinding', 'mutatingadmissionpolicybindings', (object) => [
    ...bindingErrors(object),
    ...mutatingOperationErrors(object, 'matchResources'),
  ]);

function bindings(kind: string, resource: string, validate: (object: KubeObject) => FieldError[]): ResourceDefinition {
  return policyKind(kind, resource, {
    defaults: (object) => fillMatchDefaults(objectAt(object, 'spec', 'matchResources')),
    strategy: policyStrategy(validate),
    table: nameAgeTable(
      [
        column('PolicyName', { description: 'The policy that is put into force.' }),
        column('ParamRef', { description: 'Its parameters.' }),
      ],
      (object) => [textAt(object, 'spec', 'policyName'), paramRefText(object)],
    ),
  });
}

const policyKind = (
  kind: string,
  resource: string,
  rest: Pick<BuiltInKind, 'strategy'> & Partial<BuiltInKind>,
): ResourceDefinition =>
  builtInKind({
    group: admissionRegistrationGroup,
    version: 'v1',
    kind,
    resource,
    categories: [apiExtensionsCategory],
    namespaced: false,
    component: `io.k8s.api.admissionregistration.v1.${kind}`,
    ...rest,
  });

const policyStrategy = (validate: (object: KubeObject) => FieldError[]): Strategy => {
  const checked = (context: StrategyContext, object: KubeObject): FieldError[] | Promise<FieldError[]> =>
    expressionsChecked(context, object, validate);
  return defaultStrategy({
    metadataChecks: { standardFinalizers: false, onUpdate: ['object'] },
    allowUnconditionalUpdate: false,
    managesGeneration: true,
    validate: checked,
    validateUpdate: checked,
  });
};

function fillPolicyDefaults(object: KubeObject): void {
  const policy = objectAt(object, 'spec');
  if (policy === undefined) return;
  policy['failurePolicy'] ??= 'Fail';
  fillMatchDefaults(objectAt(policy, 'matchConstraints'));
}

function fillMatchDefaults(match: JsonObject | undefined): void {
  if (match === undefined) return;
  match['matchPolicy'] ??= 'Equivalent';
  match['namespaceSelector'] ??= {};
  match['objectSelector'] ??= {};
  for (const field of ['resourceRules', 'excludeResourceRules']) {
    for (const rule of listAt(match, field)) if (isJsonObject(rule)) rule['scope'] ??= '*';
  }
}

/** What both kinds of policies have, up to the variables. */
const commonErrors = (object: KubeObject): FieldError[] => [
  ...choiceErrors(textAt(object, 'spec', 'failurePolicy'), spec.child('failurePolicy'), ['Fail', 'Ignore']),
  ...paramKindErrors(at(object, 'spec', 'paramKind'), spec.child('paramKind')),
  ...matchConstraintsErrors(at(object, 'spec'), spec),
];
const conditionErrors = (object: KubeObject, compiled: PolicyExpressions): FieldError[] => [
  ...matchConditionErrors(
    listAt(object, 'spec', 'matchConditions'),
    compiled.matchConditions,
    spec.child('matchConditions'),
  ),
  ...variableErrors(listAt(object, 'spec', 'variables'), compiled.variables, spec.child('variables')),
];

function validatingPolicyErrors(object: KubeObject): FieldError[] {
  const limits = expressionLimitErrors(object, spec);
  if (limits.length > 0) return limits;
  const compiled = compilePolicy(object);
  const errors = [...commonErrors(object), ...conditionErrors(object, compiled)];
  const validations = listAt(object, 'spec', 'validations');
  const annotations = listAt(object, 'spec', 'auditAnnotations');
  if (validations.length === 0 && annotations.length === 0) {
    const why = 'validations or auditAnnotations must contain at least one item';
    return [
      ...errors,
      fieldErrors.required(spec.child('validations'), why),
      fieldErrors.required(spec.child('auditAnnotations'), why),
    ];
  }
  for (const [index, validation] of validations.entries()) {
    errors.push(...validationErrors(validation, compiled.validations[index], spec.child('validations').index(index)));
  }
  errors.push(
    ...auditAnnotationErrors(
      object.metadata.name ?? '',
      annotations,
      compiled.auditAnnotations,
      spec.child('auditAnnotations'),
    ),
  );
  return errors;
}

function mutatingPolicyErrors(object: KubeObject): FieldError[] {
  const limits = expressionLimitErrors(object, spec);
  if (limits.length > 0) return limits;
  const errors = commonErrors(object);
  errors.push(...mutatingOperationErrors(object, 'matchConstraints'));
  const compiled = compilePolicy(object);
  errors.push(...conditionErrors(object, compiled));
  const mutations = listAt(object, 'spec', 'mutations');
  if (mutations.length === 0) {
    errors.push(fieldErrors.required(spec.child('mutations'), 'mutations must contain at least one item'));
  }
  for (const [index, mutation] of mutations.entries()) {
    errors.push(...mutationErrors(mutation, compiled.mutations[index], spec.child('mutations').index(index)));
  }
  const reinvocation = textAt(object, 'spec', 'reinvocationPolicy');
  errors.push(...choiceErrors(reinvocation, spec.child('reinvocationPolicy'), ['IfNeeded', 'Never']));
  return errors;
}

/** Only requests that write an object can be mutated. */
function mutatingOperationErrors(object: KubeObject, field: 'matchConstraints' | 'matchResources'): FieldError[] {
  const allowed = ['*', 'CONNECT', 'CREATE', 'UPDATE'];
  const path = spec.child(field, 'resourceRules', 'operations');
  return listAt(object, 'spec', field, 'resourceRules')
    .flatMap((rule) => textsAt(rule, 'operations'))
    .filter((operation) => !allowed.includes(operation))
    .map((operation) => fieldErrors.notSupported(path, operation, allowed));
}

function bindingErrors(object: KubeObject): FieldError[] {
  const match = at(object, 'spec', 'matchResources');
  return [
    ...policyNameErrors(textAt(object, 'spec', 'policyName'), spec.child('policyName')),
    ...paramRefErrors(at(object, 'spec', 'paramRef'), spec.child('paramRef')),
    ...(match === undefined ? [] : matchResourcesErrors(match, spec.child('matchResources'))),
  ];
}

function paramKindText(object: DeepReadonly<KubeObject>): string {
  const kind = objectAt(object, 'spec', 'paramKind');
  return kind === undefined ? '<unset>' : `${textAt(kind, 'apiVersion')}/${textAt(kind, 'kind')}`;
}

function paramRefText(object: DeepReadonly<KubeObject>): string {
  const ref = objectAt(object, 'spec', 'paramRef');
  if (ref === undefined) return '<unset>';
  const namespace = textAt(ref, 'namespace');
  const name = textAt(ref, 'name');
  if (name === '') return namespace === '' ? '*' : `${namespace}/*`;
  return namespace === '' ? `*/${name}` : `${namespace}/${name}`;
}

/** Everything that is wrong with an object of these kinds whose expressions may be many. */
export const policyErrors: Readonly<Record<string, (object: KubeObject) => FieldError[]>> = {
  ValidatingAdmissionPolicy: validatingPolicyErrors,
  MutatingAdmissionPolicy: mutatingPolicyErrors,
};
