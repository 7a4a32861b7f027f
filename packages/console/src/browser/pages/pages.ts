import type { PageDefinition } from './page-definition.ts';

/** All pages, in the order of the side navigation. */
export const pages: readonly PageDefinition[] = [
  {
    id: 'workspaces',
    scope: 'workspace',
    path: 'workspaces',
    navigation: { title: 'Workspaces', icon: 'workspaces' },
    load: async () => ({ Page: (await import('./workspaces/workspaces-page.tsx')).WorkspacesPage }),
  },
  {
    id: 'catalogue',
    scope: 'workspace',
    path: 'catalogue',
    navigation: { title: 'API catalogue', icon: 'catalogue' },
    load: async () => ({ Page: (await import('./catalogue/catalogue-page.tsx')).CataloguePage }),
  },
  {
    id: 'export',
    scope: 'workspace',
    path: 'catalogue/:provider/:export',
    load: async () => ({ Page: (await import('./catalogue/export-page.tsx')).ExportPage }),
  },
  {
    id: 'resources',
    scope: 'workspace',
    path: 'resources',
    navigation: { title: 'Resources', icon: 'resources' },
    load: async () => ({ Page: (await import('./resources/resources-page.tsx')).ResourcesPage }),
  },
  {
    id: 'resource',
    scope: 'workspace',
    path: 'resources/:group/:version/:resource',
    load: async () => ({ Page: (await import('./resources/resource-list-page.tsx')).ResourceListPage }),
  },
  {
    id: 'object',
    scope: 'workspace',
    path: 'resources/:group/:version/:resource/:name',
    load: async () => ({ Page: (await import('./resources/object-page.tsx')).ObjectPage }),
  },
  {
    id: 'provider',
    scope: 'workspace',
    path: 'provider',
    navigation: { title: 'Provider', icon: 'provider' },
    load: async () => ({ Page: (await import('./provider/provider-page.tsx')).ProviderPage }),
  },
  {
    id: 'provider-export',
    scope: 'workspace',
    path: 'provider/:export',
    load: async () => ({ Page: (await import('./provider/export-page.tsx')).ExportPage }),
  },
  {
    id: 'access',
    scope: 'workspace',
    path: 'access',
    navigation: { title: 'Access', icon: 'access' },
    load: async () => ({ Page: (await import('./access/access-page.tsx')).AccessPage }),
  },
  {
    id: 'operator',
    scope: 'global',
    path: 'operator',
    navigation: { title: 'Operator', icon: 'operator' },
    load: async () => ({ Page: (await import('./operator/operator-page.tsx')).OperatorPage }),
  },
];
