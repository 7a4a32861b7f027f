import { clusterAnnotation, type KubeObject } from '@multiplane/apimachinery';

/** Name and logical cluster of a namespace: all that decides about namespaced virtual resources. */
export function trimNamespace({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name = '', resourceVersion = '', annotations = {} } = metadata;
  const cluster = annotations[clusterAnnotation] ?? '';
  return { apiVersion, kind, metadata: { name, resourceVersion, annotations: { [clusterAnnotation]: cluster } } };
}
