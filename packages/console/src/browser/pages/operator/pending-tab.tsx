import { useMemo, type ReactElement } from 'react';
import { Link } from 'react-router';
import { Age } from '../../components/age.tsx';
import { Badge } from '../../components/badge.tsx';
import { Card } from '../../components/card.tsx';
import { DataTable, type DataColumn } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Notice } from '../../components/notice.tsx';
import { totalsOf, type PendingWorkspace, type ShardFigures } from '../../model/operator.ts';
import { phaseTone } from '../../model/tone.ts';
import { workspaceUrl } from '../page-definition.ts';

interface Row extends PendingWorkspace {
  readonly shard: string;
}

const columns: readonly DataColumn<Row>[] = [
  {
    id: 'name',
    title: 'Workspace',
    weight: 2,
    value: ({ name }) => name,
    render: ({ name, cluster }) => (
      <Link className="cell-name" to={workspaceUrl(`${cluster}:${name}`)}>
        {name}
      </Link>
    ),
  },
  {
    id: 'phase',
    title: 'Phase',
    weight: 1.4,
    value: ({ phase }) => phase,
    render: ({ phase }) => <Badge tone={phaseTone(phase)}>{phase === '' ? 'New' : phase}</Badge>,
  },
  { id: 'shard', title: 'Shard of its parent', weight: 1.4, value: ({ shard }) => shard },
  { id: 'reason', title: 'What is missing', weight: 5, value: ({ reasons }) => reasons.join('; ') },
  {
    id: 'age',
    title: 'Age',
    value: ({ creationTimestamp }) => creationTimestamp,
    render: ({ creationTimestamp }) => <Age of={creationTimestamp} />,
  },
];

/** Workspaces that are not, or not any more, in the phase Ready. */
export function PendingTab({ shards }: { readonly shards: readonly ShardFigures[] }): ReactElement {
  const rows = useMemo(
    () =>
      shards.flatMap(({ name: shard, pendingWorkspaces = [] }) =>
        pendingWorkspaces.map((each) => ({ ...each, shard })),
      ),
    [shards],
  );
  const { pending } = totalsOf(shards);
  if (rows.length === 0 && pending > 0)
    return (
      <Notice tone="info" title={`${pending} workspaces are not ready`}>
        Which ones they are is shown to users who may list the workspaces of all logical clusters, such as members of{' '}
        <code>system:masters</code>.
      </Notice>
    );
  if (rows.length === 0)
    return (
      <EmptyState icon="check" title="Every workspace is ready">
        <p>
          A workspace that is being created, deleted or that waits for an initializer is listed here with its reason.
        </p>
      </EmptyState>
    );
  return (
    <Card title="Not ready" description="Being created, being deleted, or stuck. The oldest are worth a look." isFlush>
      <DataTable
        label="Workspaces that are not ready"
        rows={rows}
        columns={columns}
        keyOf={({ shard, cluster, name }) => `${shard}/${cluster}/${name}`}
        initialSort={{ column: 'age' }}
        maxHeight={560}
      />
    </Card>
  );
}
