import type { OpenAPIResource } from '../src/openapi/openapi-resource.ts';

/** A custom resource with nothing special about it. */
export const widgets: OpenAPIResource = {
  group: 'example.com',
  version: 'v1',
  kind: 'Widget',
  listKind: 'WidgetList',
  resource: 'widgets',
  namespaced: true,
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  origin: 'custom',
  schema: { type: 'object' },
  subresources: [],
};

export const status = { name: 'status', verbs: ['get', 'patch', 'update'] };
export const scale = { ...status, name: 'scale', kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' } };
