import type { GroupVersionResource, LogicalClusterName } from '@multiplane/apimachinery';
import type { ObjectMetadataRecord } from '@multiplane/client';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { logicalClusterObjectName, logicalClusters, type LogicalCluster } from '../tenancy/kinds.ts';
import { isDeletingContent } from '../tenancy/logical-cluster-deletion.ts';

const namespaces: GroupVersionResource = { group: '', version: 'v1', resource: 'namespaces' };

interface PerNamespaceOptions {
  readonly name: string;
  /** Resource and name of the object that every namespace has. */
  readonly resource: GroupVersionResource;
  readonly objectName: string;
  readonly reconcile: (cluster: LogicalClusterName, namespace: string) => Promise<void>;
}

/**
 * A controller that keeps one object in every namespace. Keys are namespaces; changes of the object requeue its namespace.
 * Namespaces that are being deleted, alone or with their logical cluster, are skipped.
 */
export function perNamespaceController(options: PerNamespaceOptions, modules: ControllerModules): Controller {
  const { informers } = modules;
  const lister = informers.informer(namespaces);
  const clusters = informers.informer<LogicalCluster>(logicalClusters);
  const isClusterDeleting = (cluster: LogicalClusterName): boolean => {
    const object = clusters.get({ cluster, namespace: '', name: logicalClusterObjectName });
    return object !== undefined && isDeletingContent(object);
  };
  const controller: Controller = new Controller({ name: options.name, reconcile }, modules);
  lister.addHandlers({
    added: (_object, reference, isInInitialList) => controller.queue.add(keyOf(reference), isInInitialList),
  });
  const enqueueNamespace = ({ cluster, namespace, name, resource }: ObjectMetadataRecord): void => {
    const isKept =
      name === options.objectName &&
      resource.group === options.resource.group &&
      resource.resource === options.resource.resource;
    if (isKept && !isClusterDeleting(cluster)) controller.queue.add(keyOf({ cluster, namespace: '', name: namespace }));
  };
  // The metadata informer does not decode objects; an informer of the resource would decode all of them for one per
  // namespace.
  informers.metadata.addHandlers({
    changed: (record, old) => {
      if (old !== undefined) enqueueNamespace(record);
    },
    deleted: enqueueNamespace,
  });

  async function reconcile(key: string): Promise<void> {
    const reference = referenceOf(key);
    const namespace = lister.get(reference);
    if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return;
    if (!isClusterDeleting(reference.cluster)) await options.reconcile(reference.cluster, reference.name);
  }
  return controller;
}
