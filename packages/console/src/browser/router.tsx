import type { ReactElement } from 'react';
import { createBrowserRouter, Link, redirect, useRouteError, type RouteObject } from 'react-router';
import { EmptyState } from './components/empty-state.tsx';
import { Notice } from './components/notice.tsx';
import { defaultCluster } from './model/default-cluster.ts';
import { workspaceUrl } from './pages/page-definition.ts';
import { pages } from './pages/pages.ts';
import type { Session } from './session/session.ts';
import { Shell } from './shell/shell.tsx';

/** Routes of all pages, inside of the shell. */
export function createRouter(session: Session): ReturnType<typeof createBrowserRouter> {
  const start = (): Response => redirect(workspaceUrl(defaultCluster(session, localStorage)));
  const routes = pages.map(({ id, scope, path, load }): RouteObject => ({
    id,
    path: scope === 'workspace' ? `/w/:cluster/${path}` : `/${path}`,
    lazy: async () => ({ Component: (await load()).Page }),
  }));
  return createBrowserRouter(
    [
      {
        element: <Shell />,
        children: [
          {
            errorElement: <PageFailed />,
            children: [
              { path: '/', loader: start },
              { path: '/w/:cluster', loader: ({ params }) => redirect(workspaceUrl(params['cluster'] ?? 'root')) },
              ...routes,
              { path: '*', element: <NotFound /> },
            ],
          },
        ],
        hydrateFallbackElement: <span />,
      },
    ],
    { basename: '/console' },
  );
}

const NotFound = (): ReactElement => (
  <EmptyState isPage icon="search" title="There is no such page" action={<Link to="/">Go to the workspaces</Link>}>
    <p>The address may be from another version of the console.</p>
  </EmptyState>
);

function PageFailed(): ReactElement {
  const error = useRouteError();
  return (
    <Notice tone="bad" title="This page failed">
      {error instanceof Error ? error.message : String(error)}. Reload the browser to try again.
    </Notice>
  );
}
