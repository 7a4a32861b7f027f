const resourceList = ['map[string]resource.Quantity', 'v1.ResourceList'] as const;
const text = (name: string): readonly [string, string] => ['string', name];
const uid = text('types.UID');
const extra = ['[]string', 'v1.ExtraValue'] as const;

/** Fields of one struct with texts of named types. */
const texts = (struct: string, types: Readonly<Record<string, string>>): [string, readonly [string, string]][] =>
  Object.entries(types).map(([field, type]) => [`${struct}.${field}`, text(`v1.${type}`)]);

const webhook = { failurePolicy: 'FailurePolicyType', matchPolicy: 'MatchPolicyType', sideEffects: 'SideEffectClass' };
const condition = { status: 'ConditionStatus' };

/**
 * Fields of native kinds whose Go types have names of their own, by struct and field: the type that their schema tells and the
 * name that a decoder prints for it (k8s.io/api 1.36).
 */
const names: ReadonlyMap<string, readonly [schema: string, name: string]> = new Map<string, readonly [string, string]>([
  ['ObjectMeta.uid', uid],
  ['OwnerReference.uid', uid],
  ['ObjectReference.uid', uid],
  ['BoundObjectReference.uid', uid],
  ['Preconditions.uid', uid],
  ...texts('DeleteOptions', { propagationPolicy: 'DeletionPropagation' }),
  ...texts('ManagedFieldsEntry', { operation: 'ManagedFieldsOperationType' }),
  ...texts('LabelSelectorRequirement', { operator: 'LabelSelectorOperator' }),
  ...texts('FieldSelectorRequirement', { operator: 'FieldSelectorOperator' }),
  ...texts('Condition', condition),
  ...texts('Secret', { type: 'SecretType' }),
  ...texts('NamespaceSpec', { finalizers: 'FinalizerName' }),
  ...texts('NamespaceStatus', { phase: 'NamespacePhase' }),
  ...texts('NamespaceCondition', { type: 'NamespaceConditionType', ...condition }),
  ...['default', 'defaultRequest', 'max', 'maxLimitRequestRatio', 'min'].map((field): [string, typeof resourceList] => [
    `LimitRangeItem.${field}`,
    resourceList,
  ]),
  ...texts('LimitRangeItem', { type: 'LimitType' }),
  ['ResourceQuotaSpec.hard', resourceList],
  ['ResourceQuotaStatus.hard', resourceList],
  ['ResourceQuotaStatus.used', resourceList],
  ...texts('ResourceQuotaSpec', { scopes: 'ResourceQuotaScope' }),
  ...texts('ScopedResourceSelectorRequirement', { scopeName: 'ResourceQuotaScope', operator: 'ScopeSelectorOperator' }),
  ...texts('LeaseSpec', { strategy: 'CoordinatedLeaseStrategy' }),
  ...texts('ValidatingWebhook', webhook),
  ...texts('MutatingWebhook', { ...webhook, reinvocationPolicy: 'ReinvocationPolicyType' }),
  ...texts('RuleWithOperations', { operations: 'OperationType', scope: 'ScopeType' }),
  ...texts('NamedRuleWithOperations', { operations: 'OperationType', scope: 'ScopeType' }),
  ...texts('ValidatingAdmissionPolicySpec', { failurePolicy: 'FailurePolicyType' }),
  ...texts('ValidatingAdmissionPolicyBindingSpec', { validationActions: 'ValidationAction' }),
  ...texts('MutatingAdmissionPolicySpec', {
    failurePolicy: 'FailurePolicyType',
    reinvocationPolicy: 'ReinvocationPolicyType',
  }),
  ...texts('Mutation', { patchType: 'PatchType' }),
  ...texts('MatchResources', { matchPolicy: 'MatchPolicyType' }),
  ...texts('ParamRef', { parameterNotFoundAction: 'ParameterNotFoundActionType' }),
  ...texts('Validation', { reason: 'StatusReason' }),
  ['CertificateSigningRequestSpec.extra', extra],
  ...texts('CertificateSigningRequestSpec', { usages: 'KeyUsage' }),
  ...texts('CertificateSigningRequestCondition', { type: 'RequestConditionType', ...condition }),
  ['UserInfo.extra', extra],
  ['SubjectAccessReviewSpec.extra', extra],
  ...texts('FlowDistinguisherMethod', { type: 'FlowDistinguisherMethodType' }),
  ...texts('FlowSchemaCondition', { type: 'FlowSchemaConditionType', ...condition }),
  ...texts('PriorityLevelConfigurationSpec', { type: 'PriorityLevelEnablement' }),
  ...texts('LimitResponse', { type: 'LimitResponseType' }),
  ...texts('PriorityLevelConfigurationCondition', { type: 'PriorityLevelConfigurationConditionType', ...condition }),
  ...texts('CustomResourceDefinitionSpec', { scope: 'ResourceScope' }),
  ...texts('CustomResourceConversion', { strategy: 'ConversionStrategyType' }),
  ...texts('CustomResourceDefinitionCondition', { type: 'CustomResourceDefinitionConditionType', ...condition }),
  ...texts('JSONSchemaProps', { $schema: 'JSONSchemaURL' }),
  ...texts('ValidationRule', { reason: 'FieldValueErrorReason' }),
  ['JSONSchemaProps.x-kubernetes-validations', ['[]v1.ValidationRule', 'v1.ValidationRules']],
  ['JSONSchemaProps.definitions', ['map[string]v1.JSONSchemaProps', 'v1.JSONSchemaDefinitions']],
  ['JSONSchemaProps.dependencies', ['map[string]v1.JSONSchemaPropsOrStringArray', 'v1.JSONSchemaDependencies']],
]);

/** The type of a field as Go's decoder prints it: `type` if it has no name of its own. */
export function goTypeName(struct: string, field: string, type: string): string {
  const [schema, name] = names.get(`${struct}.${field}`) ?? ['', ''];
  return schema !== '' && type.endsWith(schema) ? type.slice(0, -schema.length) + name : type;
}

const rule = ['apiGroups', 'apiVersions', 'resources', 'scope'] as const;

/** Fields that a struct has from structs which it embeds, with the names of those. */
const embedded: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ...rule.map((field): [string, string[]] => [`RuleWithOperations.${field}`, ['Rule']]),
  ...rule.map((field): [string, string[]] => [`NamedRuleWithOperations.${field}`, ['RuleWithOperations', 'Rule']]),
  ['NamedRuleWithOperations.operations', ['RuleWithOperations']],
]);

/** Structs between a struct and a field of it, outermost first: Go's decoder names them in the path of the field. */
export const embeddedStructs = (struct: string, field: string): readonly string[] | undefined =>
  embedded.get(`${struct}.${field}`);
