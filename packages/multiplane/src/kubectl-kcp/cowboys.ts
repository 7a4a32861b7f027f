import type { GroupVersionResource, KubeObject } from '@multiplane/apimachinery';

export const cowboys: GroupVersionResource = { group: 'wildwest.dev', version: 'v1alpha1', resource: 'cowboys' };

/** The sample API of the quickstart. */
export const cowboysSchema: KubeObject = {
  apiVersion: 'apis.kcp.io/v1alpha1',
  kind: 'APIResourceSchema',
  metadata: { name: 'today.cowboys.wildwest.dev' },
  spec: {
    group: 'wildwest.dev',
    names: { kind: 'Cowboy', listKind: 'CowboyList', plural: 'cowboys', singular: 'cowboy', shortNames: ['cb'] },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: {
          type: 'object',
          description: 'A sample resource.',
          properties: {
            apiVersion: { type: 'string' },
            kind: { type: 'string' },
            metadata: { type: 'object' },
            spec: { type: 'object', properties: { intent: { type: 'string', description: 'good, bad or ugly' } } },
            status: {
              type: 'object',
              properties: { result: { type: 'string', description: 'outcome of the intent' } },
            },
          },
        },
        subresources: { status: {} },
      },
    ],
  },
};

export const cowboysExport: KubeObject = {
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIExport',
  metadata: { name: 'cowboys' },
  spec: {
    resources: [{ name: 'cowboys', group: 'wildwest.dev', schema: 'today.cowboys.wildwest.dev', storage: { crd: {} } }],
  },
};

export const sampleCowboy: KubeObject = {
  apiVersion: 'wildwest.dev/v1alpha1',
  kind: 'Cowboy',
  metadata: { name: 'john-wayne', namespace: 'default' },
  spec: { intent: 'good' },
};
