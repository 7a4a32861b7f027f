const resourceList = ['map[string]resource.Quantity', 'v1.ResourceList'] as const;
const text = (name: string): readonly [string, string] => ['string', name];
const uid = text('types.UID');

/**
 * Fields of native kinds whose Go types have names of their own, by struct and field: the type that their schema tells and the
 * name that a decoder prints for it (k8s.io/api 1.36).
 */
const names: ReadonlyMap<string, readonly [schema: string, name: string]> = new Map([
  ['ObjectMeta.uid', uid],
  ['OwnerReference.uid', uid],
  ['ObjectReference.uid', uid],
  ['Secret.type', text('v1.SecretType')],
  ['LeaseSpec.strategy', text('v1.CoordinatedLeaseStrategy')],
  ...['default', 'defaultRequest', 'max', 'maxLimitRequestRatio', 'min'].map(
    (field) => [`LimitRangeItem.${field}`, resourceList] as const,
  ),
  ['LimitRangeItem.type', text('v1.LimitType')],
  ...['MutatingWebhook', 'ValidatingWebhook'].flatMap((webhook) => [
    [`${webhook}.failurePolicy`, text('v1.FailurePolicyType')] as const,
    [`${webhook}.matchPolicy`, text('v1.MatchPolicyType')] as const,
    [`${webhook}.sideEffects`, text('v1.SideEffectClass')] as const,
  ]),
  ['ResourceQuotaSpec.hard', resourceList],
  ['ResourceQuotaSpec.scopes', text('v1.ResourceQuotaScope')],
  ['ResourceQuotaStatus.hard', resourceList],
  ['ResourceQuotaStatus.used', resourceList],
  ['ValidatingAdmissionPolicySpec.failurePolicy', text('v1.FailurePolicyType')],
  ['MatchResources.matchPolicy', text('v1.MatchPolicyType')],
  ['Validation.reason', text('v1.StatusReason')],
  ['Condition.status', text('v1.ConditionStatus')],
  ['CertificateSigningRequestSpec.extra', ['[]string', 'v1.ExtraValue']],
  ['CertificateSigningRequestSpec.usages', text('v1.KeyUsage')],
  ['CertificateSigningRequestCondition.status', text('v1.ConditionStatus')],
  ['CertificateSigningRequestCondition.type', text('v1.RequestConditionType')],
]);

/** The type of a field as Go's decoder prints it: `type` if it has no name of its own. */
export function goTypeName(struct: string, field: string, type: string): string {
  const [schema, name] = names.get(`${struct}.${field}`) ?? ['', ''];
  return schema !== '' && type.endsWith(schema) ? type.slice(0, -schema.length) + name : type;
}
