import type { ReactElement } from 'react';
import { useNavigate } from 'react-router';
import { Age } from '../../components/age.tsx';
import { Badge } from '../../components/badge.tsx';
import { CommandBox } from '../../components/command-box.tsx';
import { DataTable, type DataColumn } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { useChildWorkspaces } from '../../hooks/use-child-workspaces.ts';
import { useCluster } from '../../hooks/use-cluster.ts';
import { phaseTone } from '../../model/tone.ts';
import { phaseOf, type Workspace } from '../../model/workspace.ts';
import { workspaceUrl } from '../page-definition.ts';

const columns: readonly DataColumn<Workspace>[] = [
  { id: 'name', title: 'Name', weight: 3, value: ({ metadata }) => metadata.name },
  { id: 'type', title: 'Type', weight: 2, value: ({ spec }) => spec?.type?.name },
  {
    id: 'phase',
    title: 'Phase',
    value: phaseOf,
    render: (workspace) => <Badge tone={phaseTone(phaseOf(workspace))}>{phaseOf(workspace)}</Badge>,
  },
  {
    id: 'age',
    title: 'Age',
    value: ({ metadata }) => metadata.creationTimestamp,
    render: ({ metadata }) => metadata.creationTimestamp !== undefined && <Age of={metadata.creationTimestamp} />,
  },
];

/** The workspaces below one. */
export function WorkspacesPage(): ReactElement {
  const cluster = useCluster();
  const navigate = useNavigate();
  const { items, isSynced, failure } = useChildWorkspaces(cluster);
  return (
    <div className="page-fill">
      <PageHeader title="Workspaces" description={`What is below ${cluster}.`} />
      {failure !== undefined && (
        <Notice tone="bad" title="The workspaces cannot be listed">
          {failure.message}
        </Notice>
      )}
      {!isSynced && failure === undefined && <Loading />}
      {isSynced && items.length === 0 && (
        <EmptyState icon="workspaces" title="No workspaces here yet">
          <p>A workspace is an API endpoint of its own, with its own objects, APIs and permissions.</p>
          <CommandBox command="kubectl create workspace team-a --enter" />
        </EmptyState>
      )}
      {items.length > 0 && (
        <div className="table-frame">
          <DataTable
            label="Workspaces"
            rows={items}
            columns={columns}
            keyOf={({ metadata }) => metadata.name}
            initialSort={{ column: 'name' }}
            onOpen={({ metadata }) => void navigate(workspaceUrl(`${cluster}:${metadata.name}`))}
          />
        </div>
      )}
    </div>
  );
}
