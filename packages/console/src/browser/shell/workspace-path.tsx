import { useEffect, type ReactElement } from 'react';
import { Link, useLocation, useNavigate } from 'react-router';
import { Icon } from '../components/icon.tsx';
import { IconButton } from '../components/icon-button.tsx';
import { useLogicalCluster } from '../hooks/use-logical-cluster.ts';
import { pathsTo } from '../model/workspace-tree.ts';
import { workspaceUrl } from '../pages/page-definition.ts';

/** Where one is, from the root to the workspace, and the way to another one. */
export function WorkspacePath({
  cluster,
  onSwitch,
}: {
  readonly cluster: string;
  readonly onSwitch: () => void;
}): ReactElement {
  const { data } = useLogicalCluster(cluster);
  const navigate = useNavigate();
  const { pathname, search } = useLocation();
  const path = data?.metadata.annotations?.['kcp.io/path'];
  useEffect(() => {
    // One address per workspace, that of its path.
    const prefix = `/w/${cluster}/`;
    if (path !== undefined && path !== cluster && pathname.startsWith(prefix))
      void navigate(`/w/${path}/${pathname.slice(prefix.length)}${search}`, { replace: true });
  }, [path, cluster, pathname, search, navigate]);
  const steps = pathsTo(cluster);
  return (
    <nav className="workspace-path" aria-label="Workspace">
      <Icon name="workspaces" />
      <ol>
        {steps.map((target, index) => (
          <li key={target}>
            {index > 0 && <Icon name="chevronRight" size={12} />}
            <Link to={workspaceUrl(target)} aria-current={index === steps.length - 1 ? 'page' : undefined}>
              {index === 0 ? target : target.slice(target.lastIndexOf(':') + 1)}
            </Link>
          </li>
        ))}
      </ol>
      <IconButton icon="chevronDown" label="Switch to another workspace" onClick={onSwitch} />
    </nav>
  );
}
