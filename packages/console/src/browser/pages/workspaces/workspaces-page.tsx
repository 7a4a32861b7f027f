import type { ReactElement } from 'react';
import { useCluster } from '../../hooks/use-cluster.ts';
import { WorkspaceDetails } from './workspace-details.tsx';
import { WorkspaceTree } from './workspace-tree.tsx';
import './workspaces.css';

/** The tree of workspaces, and the one that is selected. */
export function WorkspacesPage(): ReactElement {
  const cluster = useCluster();
  return (
    <div className="workspaces-page page-fill">
      <WorkspaceTree cluster={cluster} />
      <div className="workspaces-details">
        <WorkspaceDetails key={cluster} cluster={cluster} />
      </div>
    </div>
  );
}
