import type { DeepReadonly, GroupVersionResource, KubeObject } from '@multiplane/apimachinery';
import type { Controller, ControllerModules } from '../runtime/controller.ts';
import { ignoreReasons, withChanges } from '../runtime/object-writes.ts';
import { perNamespaceController } from './per-namespace-controller.ts';

const configMaps: GroupVersionResource = { group: '', version: 'v1', resource: 'configmaps' };
const rootCaName = 'kube-root-ca.crt';
const descriptionAnnotation = 'kubernetes.io/description';
const description =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.';

/**
 * Keeps the ConfigMap `kube-root-ca.crt` with the server's CA in every namespace (Kubernetes:
 * pkg/controller/certificates/rootcacertpublisher). `rootCa` is PEM.
 */
export function rootCaController(options: { readonly rootCa: () => string }, modules: ControllerModules): Controller {
  const { informers, client } = modules;
  const maps = informers.informer(configMaps);
  return perNamespaceController(
    {
      name: 'root-ca-certificate-publisher',
      resource: configMaps,
      objectName: rootCaName,
      reconcile: async (cluster, namespace) => {
        const data = { 'ca.crt': options.rootCa() };
        const current = maps.get({ cluster, namespace, name: rootCaName });
        if (current === undefined) {
          const map: KubeObject = {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { name: rootCaName, namespace, annotations: { [descriptionAnnotation]: description } },
            data,
          };
          await ignoreReasons(['AlreadyExists', 'NotFound', 'Forbidden'], () =>
            client.create(configMaps, cluster, map, { discardResult: true }),
          );
        } else if (!isUpToDate(current, data)) {
          const annotations = { ...current.metadata.annotations, [descriptionAnnotation]: description };
          await client.update(configMaps, cluster, withChanges(current, { metadata: { annotations }, data }));
        }
      },
    },
    modules,
  );
}

function isUpToDate(map: DeepReadonly<KubeObject>, data: { readonly 'ca.crt': string }): boolean {
  const current = (map['data'] ?? {}) as Readonly<Record<string, string>>;
  return (
    current['ca.crt'] === data['ca.crt'] &&
    Object.keys(current).length === 1 &&
    map.metadata.annotations?.[descriptionAnnotation] === description
  );
}
