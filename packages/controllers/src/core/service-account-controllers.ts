import type { DeepReadonly, GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { ObjectMetadataRecord } from '@multiplane/client';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { ignoring, mutable } from '../runtime/update-status.ts';
import { logicalClusterObjectName, logicalClusters, type LogicalCluster } from '../tenancy/kinds.ts';
import { isBeingEmptied } from '../tenancy/logical-cluster-removal.ts';

const namespaces: GroupVersionResource = { group: '', version: 'v1', resource: 'namespaces' };
const serviceAccounts: GroupVersionResource = { group: '', version: 'v1', resource: 'serviceaccounts' };
const configMaps: GroupVersionResource = { group: '', version: 'v1', resource: 'configmaps' };
const rootCaName = 'kube-root-ca.crt';
/** Clients look for this annotation's key; the text says what the bundle is good for (K8.3). */
const descriptionAnnotation = 'kubernetes.io/description';
const description =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.';

type Namespace = KubeObject & { status?: { phase?: string } };

/** Keys are namespaces: whatever happens to one, or to the object kept in it, brings the namespace back. */
function perNamespaceController(
  name: string,
  kept: { readonly resource: GroupVersionResource; readonly name: string },
  modules: ControllerModules,
  reconcile: (cluster: LogicalClusterName, namespace: string) => Promise<void>,
): Controller {
  const { informers } = modules;
  const lister = informers.informer<Namespace>(namespaces);
  const clusters = informers.informer<LogicalCluster>(logicalClusters);
  /** Nothing comes back that goes with all the rest. */
  const goesWithAll = (cluster: LogicalClusterName): boolean => {
    const object = clusters.get({ cluster, namespace: '', name: logicalClusterObjectName });
    return object !== undefined && isBeingEmptied(object);
  };
  const controller: Controller = new Controller(
    {
      name,
      reconcile: async (key) => {
        const reference = referenceOf(key);
        const namespace = lister.get(reference);
        if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return;
        if (!goesWithAll(reference.cluster)) await reconcile(reference.cluster, reference.name);
      },
    },
    modules,
  );
  lister.addHandlers({
    added: (_object, reference, wasThere) => controller.queue.add(keyOf(reference), wasThere),
  });
  const isKept = ({ group, resource }: GroupVersionResource): boolean =>
    group === kept.resource.group && resource === kept.resource.resource;
  const again = (record: ObjectMetadataRecord): void => {
    const { cluster, namespace, name } = record;
    if (name === kept.name && isKept(record.resource) && !goesWithAll(cluster))
      controller.queue.add(keyOf({ cluster, namespace: '', name: namespace }));
  };
  // Not one of the kind's own: that would have every object of it parsed, of which all but one a namespace are others'.
  informers.metadata.addHandlers({
    changed: (record, old) => {
      if (old !== undefined) again(record);
    },
    deleted: again,
  });
  return controller;
}

/** Keeps the ServiceAccount `default` in every namespace (K8.3). */
export function serviceAccountController(modules: ControllerModules): Controller {
  const { informers, client } = modules;
  const accounts = informers.informer(serviceAccounts);
  return perNamespaceController(
    'serviceaccount',
    { resource: serviceAccounts, name: 'default' },
    modules,
    async (cluster, namespace) => {
      if (accounts.get({ cluster, namespace, name: 'default' }) !== undefined) return;
      const account: KubeObject = {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: 'default', namespace },
      };
      await ignoring(['AlreadyExists', 'NotFound', 'Forbidden'], () =>
        client.create(serviceAccounts, cluster, account, { unread: true }),
      );
    },
  );
}

/** Keeps the ConfigMap with the server's CA in every namespace, as it should be (K8.3). `rootCa` is PEM. */
export function rootCaController(options: { readonly rootCa: () => string }, modules: ControllerModules): Controller {
  const { informers, client } = modules;
  const maps = informers.informer(configMaps);
  return perNamespaceController(
    'root-ca-certificate-publisher',
    { resource: configMaps, name: rootCaName },
    modules,
    async (cluster, namespace) => {
      const data = { 'ca.crt': options.rootCa() };
      const current = maps.get({ cluster, namespace, name: rootCaName });
      if (current === undefined) {
        const map: KubeObject = {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: rootCaName, namespace, annotations: { [descriptionAnnotation]: description } },
          data,
        };
        await ignoring(['AlreadyExists', 'NotFound', 'Forbidden'], () =>
          client.create(configMaps, cluster, map, { unread: true }),
        );
      } else if (!isAsWanted(current, data)) {
        const annotations = { ...current.metadata.annotations, [descriptionAnnotation]: description };
        await client.update(configMaps, cluster, mutable(current, { metadata: { annotations }, data }));
      }
    },
  );
}

function isAsWanted(map: DeepReadonly<KubeObject>, data: { readonly 'ca.crt': string }): boolean {
  const found = (map['data'] ?? {}) as Readonly<Record<string, string>>;
  return (
    found['ca.crt'] === data['ca.crt'] &&
    Object.keys(found).length === 1 &&
    map.metadata.annotations?.[descriptionAnnotation] === description
  );
}
