export * from './runtime/controller.ts';
export type { UpdateWithStatus } from './runtime/object-writes.ts';
export type * from './core/content-deleter.ts';
export * from './core/namespace-controller.ts';
export { csrCleanerController } from './certificates/csr-cleaner-controller.ts';
export {
  clientSignerName,
  csrSigningController,
  UnsignableRequestError,
  type SignClientRequest,
} from './certificates/csr-signing-controller.ts';
export { rootCaController } from './core/root-ca-controller.ts';
export { serviceAccountController } from './core/service-account-controller.ts';
export * from './core/service-account-token-controller.ts';
export * from './rbac/cluster-role-aggregation-controller.ts';
export * from './apiextensions/crd-controller.ts';
export { validatingPolicyStatusController } from './admissionregistration/policy-status-controller.ts';
export { apiSharingControllers } from './apis/api-sharing-controllers.ts';
export { apiExportController } from './apis/api-export-controller.ts';
export type { ScopedObjects } from './scopes/scope-report-controller.ts';
export { permissionClaimControllers, type PermissionClaimModules } from './apis/permission-claim-label-controller.ts';
export type { ClaimedObjectFinder } from './apis/permission-claim-labeler.ts';
export { policedIdentitiesController } from './apis/policed-identities-controller.ts';
export { ResourceLockWriter } from './apis/resource-lock-writer.ts';
export { defaultFlowControlController } from './flowcontrol/default-flow-control-controller.ts';
export * from './flowcontrol/flow-schema-controller.ts';
export * from './garbagecollection/garbage-collector.ts';
export * from './quota/resource-quota-controller.ts';
export * from './tenancy/workspace-controller.ts';
export { workspaceLimitsController, type LimitsOfParent } from './tenancy/workspace-limits-controller.ts';
export { workspaceMountController } from './tenancy/workspace-mount-controller.ts';
export { hasLeftScheduling, shardHash } from './tenancy/workspace-scheduler.ts';
export * from './tenancy/logical-cluster-controller.ts';
export * from './tenancy/inactive.ts';
export * from './tenancy/default-bindings.ts';
export { precomputeBoundStatus } from './tenancy/precompute-bound-status.ts';
export { DefaultBindingWriter, type DefaultBindingWriterModules } from './tenancy/default-binding-writer.ts';
export { defaultBindingLifecycleController } from './tenancy/default-binding-lifecycle-controller.ts';
export { setKcpCondition, type KcpCondition } from './runtime/kcp-conditions.ts';
export * from './tenancy/kinds.ts';
export { isLifecycleLabel } from './tenancy/logical-cluster-metadata.ts';
export type { LogicalClusterAccess } from './tenancy/logical-cluster-access.ts';
export * from './sharding/kinds.ts';
export * from './sharding/shard-health.ts';
export * from './sharding/shard-registration.ts';
export * from './tenancy/workspace-type-closure.ts';
export * from './tenancy/workspace-type-controller.ts';
export * from './cache/replicated-kinds.ts';
export { CacheMonitor, type CacheOutage } from './cache/cache-monitor.ts';
export * from './cache/cached-object-store.ts';
export * from './cache/cached-object.ts';
export * from './cache/replication-controller.ts';
export type { FindEndpointSlice } from './apis/virtual-storage-reconcile.ts';
export { cachedResourceController, type CachedResourceModules } from './cache/cached-resource-controller.ts';
export type { ServedResourceSpec } from './cache/cached-resource-reconcile.ts';
export { replicateAnnotationOf } from './cache/replicate-annotation.ts';
export * from './cache/replicate-annotation-controller.ts';
export * from './cache/removed-shard-controller.ts';
export { partitionSetController } from './topology/partition-set-controller.ts';
