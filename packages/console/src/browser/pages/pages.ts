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
];
