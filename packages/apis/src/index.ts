export * from './resource-definition.ts';
export * from './table-convertor.ts';
export { builtInResources } from './built-in-resources.ts';
export { defaultStrategy } from './default-strategy.ts';
export { isLongCheck } from './apiextensions/custom-resource-definition.ts';
export { degradedCondition, unreadablePaths, unreadablePathWarnings } from './apiextensions/unreadable-paths.ts';
export { crdSpecErrors } from './apiextensions/crd-spec-rules.ts';
export { apiApprovedAnnotation } from './apiextensions/api-approval.ts';
export { resolveComponent } from './schemas/components.ts';
export { BuiltInSchema } from './schemas/built-in-schema.ts';
export {
  decodeProtobufIncrementally,
  decodeProtobufMessage,
  decodeProtobufObject,
} from './schemas/protobuf-decoding.ts';
export {
  encodeProtobufIncrementally,
  encodeProtobufMessage,
  encodeProtobufMessageIncrementally,
  encodeProtobufObject,
  protobufEnvelope,
  transcodeProtobufMessage,
} from './schemas/protobuf-encoding.ts';
export { CustomResources, definingObject } from './apiextensions/custom-resources.ts';
export {
  maxConversionRules,
  VersionConversions,
  type VersionConversionRules,
} from './apiextensions/version-conversions.ts';
export { plainlyCounted } from './core/resource-names.ts';
export type { QuotaAmounts, QuotaEvaluator } from './quota/quota-evaluator.ts';
export { clusterQuotaNamespace, isClusterScopedQuota } from './quota/cluster-scoped-quota.ts';
export { contentEvaluators, quotaEvaluatorOf } from './quota/quota-evaluators.ts';
export { scopeRequirements } from './quota/scope-requirements.ts';
export * from './kcp/api-sharing.ts';
export { claimsInForce, effectiveClaim } from './kcp/effective-claim.ts';
export { referencedObject } from './kcp/referenced-object.ts';
export * from './kcp/cached-resources.ts';
export { isCachedResource, isCachedResourceSlice, resourceReferenceOf } from './kcp/cached-resource-names.ts';
export type { Endpoint } from './kcp/endpoint.ts';
export {
  defaultSliceAnnotation,
  defaultSliceOf,
  isDefaultSlice,
  skipCachedResourceSliceAnnotation,
} from './kcp/default-slice.ts';
export * from './kcp/virtual-storage.ts';
export * from './scopes/api-export-scope.ts';
export { selectableFieldsOf } from './scopes/selectable-fields.ts';
export * from './limits/workspace-limits.ts';
export { workspaceUsages, type WorkspaceUsageStatus } from './limits/workspace-usage.ts';
export { apiResourceSchemaErrors } from './kcp/api-resource-schema-rules.ts';
export { isReviewResource, needsNoIdentity } from './kcp/claimable-resources.ts';
export { definitionOfSchema } from './kcp/bound-definition.ts';
export { kcpResources } from './kcp/kcp-resources.ts';
export { permissionClaimsAnnotation, resourceSchemasAnnotation } from './kcp/sharing-conversion.ts';
export { ExportLabelValues } from './kcp/export-label-values.ts';
export { releasedLocks } from './kcp/released-locks.ts';
export * from './kcp/resource-locks.ts';
export { rootExportKinds, rootExportOf } from './kcp/root-export-kinds.ts';
export type { RootExport } from './kcp/root-export.ts';
export { rootExports } from './kcp/root-exports.ts';
export { nativeExportNames, nativeExports, nativeKindsBattery } from './native/native-exports.ts';
export { finalizersOfDeletion, workspaceFinalizer } from './kcp/workspace-finalizer.ts';
export { tokenRequestKind } from './reviews/reviews.ts';
export {
  bootstrapClusterRoleBindings,
  bootstrapClusterRoles,
  bootstrapRoleBindings,
  bootstrapRoles,
} from './rbac/bootstrap-policy.ts';
export { bootstrapFlowSchemas, bootstrapPriorityLevels } from './flowcontrol/default-flow-control.ts';
export { webhookClientConfig, type WebhookClientConfig } from './webhook-client-config.ts';
export { hasUnusableAuthorities } from './apiextensions/crd-conversion-rules.ts';
export * from './admissionregistration/admission-expressions.ts';
export * from './admissionregistration/policy-expressions.ts';
export { policyErrors } from './admissionregistration/policies.ts';
export { validateWebhooks } from './admissionregistration/webhook-configurations.ts';
export { policyTypeWarnings } from './admissionregistration/policy-type-check.ts';
