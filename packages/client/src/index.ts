/** What calls and results of this package are made of. */
export {
  asLogicalClusterName,
  isStatusError,
  StatusError,
  type GroupVersionResource,
  type KubeList,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
export * from './lister.ts';
export * from './object-client.ts';
export * from './kubeconfig.ts';
export * from './merge-kubeconfig.ts';
export * from './go-network-error.ts';
export * from './rest-transport.ts';
export * from './rest-client-metrics.ts';
export * from './rest-client.ts';
export * from './work-queue-metrics.ts';
export * from './work-queue.ts';
export * from './object-key.ts';
export type { NewObject } from './new-object.ts';
export * from './resource-name.ts';
export * from './controller/controller.ts';
export * from './events/event-recorder.ts';
export * from './reflector/reflector.ts';
export { parseWatchEvent, type WatchEvent } from './reflector/watch-event.ts';
export { IdleTimeout } from './reflector/idle-timeout.ts';
export { LineSplitter } from './reflector/line-splitter.ts';
export * from './informers/remote-informer.ts';
export * from './informers/remote-informer-factory.ts';
export * from './informers/global-informer.ts';
export * from './informers/path-and-name-index.ts';
export * from './leader-election/leader-elector.ts';
export * from './informers/deferred-informer-source.ts';
export * from './informers/empty-informer-source.ts';
export * from './informers/informer-sync-tracker.ts';
export { systemClock } from '@multiplane/component-base';
