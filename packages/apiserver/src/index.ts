export { identityOf as storedIdentityOf } from './registry/codec/stored-layout.ts';
export * from './admission/plugin.ts';
export { isBoundAsVirtual, type BoundApi, type BoundApis, type ExportedApis } from './api-sharing/bound-apis.ts';
export * from './api-sharing/exported-schemas.ts';
export * from './api-sharing/exports-by-identity.ts';
export * from './registry/definitions/resource-resolver.ts';
export * from './registry/definitions/served-apis.ts';
export * from './admission/rbac-escalation.ts';
export { checkCreateAllowed } from './endpoints/create-authorization.ts';
export * from './endpoints/create-handler.ts';
export type { CreateOutcomes } from './endpoints/create-outcome.ts';
export * from './reviews/review-handlers.ts';
export * from './embedded-server.ts';
export * from './request-router.ts';
export * from './resource-handler-chain.ts';
export { writeObject } from './write-object-response.ts';
export { JwtCelCompiler } from './authentication/jwt-cel-compiler.ts';
export { userInfoObject } from './reviews/authentication-reviews.ts';
export * from './discovery/discovery-handler.ts';
export * from './admission/admission-chain.ts';
export * from './admission/forbidden.ts';
export * from './admission/namespace-lifecycle.ts';
export * from './registry/store/decoded-objects.ts';
export { encodeForStorage, maxStoredBytes } from './registry/codec/object-codec.ts';
export * from './registry/conversion/object-conversions.ts';
export * from './registry/store/object-reader.ts';
export * from './webhooks/conversion-review.ts';
export * from './registry/object-store.ts';
export type { ObjectStoreModules } from './registry/store/object-store-modules.ts';
export { admissionAttributes } from './write-path/admission-attributes.ts';
export type { WriteRequest } from './write-path/write-request.ts';
export { completed } from './endpoints/response/completed.ts';
export type { Reserved, WriteCapacity, WriteSize } from './write-path/write-capacity.ts';
export type { WriteResult } from './write-path/write-result.ts';
export { groupResourceOf } from './registry/definitions/group-resource.ts';
export * from './registry/definitions/definition-resolver.ts';
export * from './write-path/decoding/body-decoder.ts';
export type { ExpectedKind } from './write-path/decoding/expected-kind.ts';
export { contentTypeOf } from './write-path/decoding/request-body.ts';
export * from './endpoints/virtual-view.ts';
export { conformIncrementally, shapeDocument } from './write-path/decoding/shape-document.ts';
export { YamlWorker } from './write-path/decoding/yaml-worker.ts';
export { SchemaWorker } from './threads/schema-worker.ts';
export * from './endpoints/watch/watch-hub.ts';
export * from './endpoints/resource-handler.ts';
export {
  columnDefinitions,
  includeObjectOf,
  partialObject,
  tableOfOne,
  tableRow,
} from './endpoints/response/table-writer.ts';
export { errorFrame } from './endpoints/watch/watch-frames.ts';
export { locateResource } from './endpoints/locate-resource.ts';
export { checkRequiredLabels, requiredLabelsParameter } from './endpoints/required-labels.ts';
export type { ResourceRequest } from './endpoints/resource-request.ts';
export * from './openapi/openapi-handler.ts';
export { definitionHash } from './openapi/openapi-group-versions.ts';
export * from './informers/cache-informer-factory.ts';
export { CacheSubscription } from './informers/cache-subscription.ts';
export { identitySegments } from './informers/identity-segments.ts';
export * from './loopback/loopback-client.ts';
export { loopbackUser } from './loopback/loopback-user.ts';
export { labelOf, labelsOf } from './registry/store/entry-metadata.ts';
export * from './admission/resource-quota.ts';
export * from './admission/certificate-plugins.ts';
export * from './admission/terminating-definition.ts';
export * from './admission/configured-admission.ts';
