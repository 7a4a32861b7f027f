import { clusterAnnotation } from '@multiplane/apimachinery';
import type { APIBinding, APIExport, APIResourceSchema } from '@multiplane/apis';

/* FOR TESTS: schemas, exports and bindings with the status that controllers set. */

interface SchemaParts {
  readonly cluster?: string;
  readonly uid?: string;
  readonly plural?: string;
  readonly kind?: string;
  readonly subresources?: Record<string, never> | object;
}

/** `v1.<plural>.example.dev`. */
export function schemaOf(parts: SchemaParts = {}): APIResourceSchema {
  const { cluster = 'provider', plural = 'widgets', kind = 'Widget', uid = `uid-of-${plural}` } = parts;
  const { subresources = { status: {} } } = parts;
  return {
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIResourceSchema',
    metadata: {
      name: `v1.${plural}.example.dev`,
      uid,
      resourceVersion: '1',
      annotations: { [clusterAnnotation]: cluster },
    },
    spec: {
      group: 'example.dev',
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      scope: 'Namespaced',
      versions: [
        { name: 'v1', served: true, storage: true, schema: { type: 'object' }, subresources: subresources as never },
      ],
    },
  };
}

/** An export of widgets. */
export function exportOf(
  spec: Partial<NonNullable<APIExport['spec']>> = {},
  { cluster = 'provider', name = 'things', identity = 'id1' } = {},
): APIExport {
  return {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIExport',
    metadata: { name, uid: `uid-of-${name}`, annotations: { [clusterAnnotation]: cluster } },
    spec: { resources: [{ name: 'widgets', group: 'example.dev', schema: 'v1.widgets.example.dev' }], ...spec },
    status: { identityHash: identity },
  };
}

/** A binding to the export of widgets. */
export function bindingOf(
  spec: Partial<NonNullable<APIBinding['spec']>> = {},
  { cluster = 'consumer', name = 'things', exportCluster = 'provider' } = {},
): APIBinding {
  return {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIBinding',
    metadata: { name, annotations: { [clusterAnnotation]: cluster } },
    spec: { reference: { export: { path: 'root:provider', name: 'things' } }, ...spec },
    status: {
      apiExportClusterName: exportCluster,
      phase: 'Bound',
      boundResources: [
        {
          group: 'example.dev',
          resource: 'widgets',
          schema: { name: 'v1.widgets.example.dev', UID: 'uid-of-widgets', identityHash: 'id1' },
        },
      ],
    },
  };
}
