import type { JsonObject, KubeObject } from '@multiplane/apimachinery';

/** A definition with one version; it preserves unknown fields unless `schema` is set. */
export function definitionOf(
  group: string,
  version: string,
  plural: string,
  kind: string,
  schema: JsonObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  subresources: JsonObject = { status: {} },
): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group === '' ? 'core' : group}`,
      ...(group.endsWith('.k8s.io') ? { annotations: { 'api-approved.kubernetes.io': 'unapproved, a test' } } : {}),
    },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, kind },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          subresources,
        },
      ],
    },
  };
}
