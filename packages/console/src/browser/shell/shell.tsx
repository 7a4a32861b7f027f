import { useEffect, useState, type ReactElement } from 'react';
import { Link, NavLink, Outlet, useLocation, useNavigation, useParams } from 'react-router';
import { Icon } from '../components/icon.tsx';
import { IconButton } from '../components/icon-button.tsx';
import { useApp } from '../hooks/app-context.ts';
import { defaultCluster, rememberCluster } from '../model/default-cluster.ts';
import { workspaceUrl } from '../pages/page-definition.ts';
import { pages } from '../pages/pages.ts';
import { BrandMark } from './brand-mark.tsx';
import { CommandPalette } from './command-palette.tsx';
import { ConnectionState } from './connection-state.tsx';
import { UserMenu } from './user-menu.tsx';
import { WorkspacePath } from './workspace-path.tsx';

/** What surrounds every page: navigation, the workspace that one is in, search and the user. */
export function Shell(): ReactElement {
  const { session } = useApp();
  const params = useParams();
  const { pathname } = useLocation();
  const { state } = useNavigation();
  const [isNavigationOpen, setIsNavigationOpen] = useState(false);
  const [isPaletteOpen, setIsPaletteOpen] = useState(false);
  const cluster = params['cluster'] ?? defaultCluster(session, localStorage);

  useEffect(() => {
    if (params['cluster'] !== undefined) rememberCluster(session.user.name, params['cluster'], localStorage);
  }, [params, session]);
  useEffect(() => setIsNavigationOpen(false), [pathname]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setIsPaletteOpen(true);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);

  return (
    <div className="shell">
      <a className="skip-link" href="#content">
        Skip to the content
      </a>
      <aside className={isNavigationOpen ? 'sidebar sidebar-open' : 'sidebar'}>
        <Link className="brand" to={workspaceUrl(cluster)}>
          <BrandMark size={26} />
          Multiplane
        </Link>
        <nav aria-label="Main">
          <ul>
            {pages.map(
              ({ id, scope, path, navigation }) =>
                navigation !== undefined && (
                  <li key={id}>
                    <NavLink className="nav-item" to={scope === 'workspace' ? workspaceUrl(cluster, path) : `/${path}`}>
                      <Icon name={navigation.icon} />
                      {navigation.title}
                    </NavLink>
                  </li>
                ),
            )}
          </ul>
        </nav>
        <div className="sidebar-foot">
          <span>{session.server.profile === 'sharded' ? 'Sharded' : 'All in one'}</span>
          <span>{session.server.version}</span>
        </div>
      </aside>
      {isNavigationOpen && <div className="sidebar-backdrop" onClick={() => setIsNavigationOpen(false)} />}
      <header className="topbar">
        <IconButton
          icon="menu"
          label="Navigation"
          className="topbar-menu"
          aria-expanded={isNavigationOpen}
          onClick={() => setIsNavigationOpen(!isNavigationOpen)}
        />
        <WorkspacePath cluster={cluster} onSwitch={() => setIsPaletteOpen(true)} />
        <div className="topbar-end">
          <ConnectionState />
          <button type="button" className="search-button" onClick={() => setIsPaletteOpen(true)}>
            <Icon name="search" />
            <span>Search</span>
            <kbd>Ctrl K</kbd>
          </button>
          <UserMenu />
        </div>
      </header>
      {state === 'loading' && <div className="progress-line" role="progressbar" aria-label="Loading the page" />}
      <main id="content" className="content" tabIndex={-1}>
        <Outlet />
      </main>
      {isPaletteOpen && <CommandPalette cluster={cluster} onClose={() => setIsPaletteOpen(false)} />}
    </div>
  );
}
