/** Controllers over all consumers of an API, on all shards. */
export { isStatusError, StatusError, type DeepReadonly, type KubeObject } from '@multiplane/apimachinery';
export type { ClientConfig, NewEvent, NewObject, ObjectReference } from '@multiplane/client';
export type { ConsumerClient, ObjectName } from './consumer-client.ts';
export type { EndpointSelection } from './endpoints/endpoint-source.ts';
export { Provider, provider, type ProviderModules, type ProviderOptions } from './provider.ts';
export type { ReconcileRequest, StatusOf } from './reconciling/reconcile-request.ts';
export type { Reconcile } from './reconciling/resource-reconciler.ts';
export type { ResourceBuilder } from './resource-builder.ts';
