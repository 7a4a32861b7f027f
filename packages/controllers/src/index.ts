export * from './runtime/controller.ts';
export type { UpdateWhole } from './runtime/update-status.ts';
export type * from './core/content-remover.ts';
export * from './core/namespace-controller.ts';
export * from './core/service-account-controllers.ts';
export * from './core/service-account-token-controller.ts';
export * from './rbac/cluster-role-aggregation-controller.ts';
export * from './apiextensions/crd-controller.ts';
export { validatingPolicyStatusController } from './admissionregistration/policy-status-controller.ts';
export { apiSharingControllers } from './apis/api-sharing-controllers.ts';
export * from './apis/api-export-controller.ts';
export { boundResourceOf, boundStatus } from './apis/binding-status.ts';
export {
  permissionClaimControllers,
  type ClaimedObjectFinder,
  type PermissionClaimModules,
} from './apis/permission-claim-controller.ts';
export { policedIdentitiesController } from './apis/policed-identities-controller.ts';
export { ResourceLockKeeper } from './apis/resource-lock-keeper.ts';
export * from './flowcontrol/flow-schema-controller.ts';
export * from './garbagecollection/garbage-collector.ts';
export * from './quota/resource-quota-controller.ts';
export * from './tenancy/workspace-controller.ts';
export { workspaceMountController } from './tenancy/workspace-mount-controller.ts';
export { hasBegun, shardHash } from './tenancy/workspace-scheduler.ts';
export * from './tenancy/logical-cluster-controller.ts';
export * from './tenancy/inactive.ts';
export * from './tenancy/default-bindings.ts';
export { boundAtOnce } from './tenancy/bound-at-once.ts';
export { DefaultBindingWriter, type DefaultBindingWriterModules } from './tenancy/default-binding-writer.ts';
export { defaultBindingLifecycleController } from './tenancy/default-binding-lifecycle-controller.ts';
export { setKcpCondition, type KcpCondition } from './tenancy/kcp-conditions.ts';
export * from './tenancy/kinds.ts';
export { isWaitLabel } from './tenancy/logical-cluster-metadata.ts';
export type { LogicalClusterAccess } from './tenancy/logical-cluster-access.ts';
export * from './sharding/kinds.ts';
export * from './sharding/shard-health.ts';
export * from './sharding/shard-registration.ts';
export * from './tenancy/workspace-type-closure.ts';
export * from './tenancy/workspace-type-controller.ts';
export * from './cache/replicated-kinds.ts';
export * from './cache/replica-store.ts';
export * from './cache/replica-of.ts';
export * from './cache/replication-controller.ts';
export { currentMark } from './cache/replication-marks.ts';
export * from './cache/replication-marking-controller.ts';
export * from './cache/removed-shard-controller.ts';
export { partitionSetController } from './topology/partition-set-controller.ts';
