import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { Link } from 'react-router';
import { Button } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { DataTable, type DataColumn } from '../../components/data-table.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { useApp } from '../../hooks/app-context.ts';
import { useLogicalCluster } from '../../hooks/use-logical-cluster.ts';
import { countText, type Tenant } from '../../model/operator.ts';
import { bytesText } from '../../model/usage.ts';
import { workspaceUrl } from '../page-definition.ts';

interface Tenants {
  readonly tenants: readonly Tenant[];
  readonly examined: number;
  readonly failures: readonly { readonly shard: string; readonly message: string }[];
  readonly isTruncated: boolean;
}

const columns: readonly DataColumn<Tenant>[] = [
  {
    id: 'workspace',
    title: 'Workspace',
    weight: 2.4,
    value: ({ cluster }) => cluster,
    render: ({ cluster }) => <WorkspaceLink cluster={cluster} />,
  },
  { id: 'shard', title: 'Shard', weight: 1.4, value: ({ shard }) => shard },
  {
    id: 'objects',
    title: 'Objects',
    isNumber: true,
    value: ({ objects }) => objects,
    render: ({ objects }) => countText(objects),
  },
  {
    id: 'bytes',
    title: 'Stored',
    isNumber: true,
    value: ({ bytes }) => bytes,
    render: ({ bytes }) => bytesText(bytes),
  },
  {
    id: 'watches',
    title: 'Watches',
    isNumber: true,
    value: ({ watches }) => watches,
    render: ({ watches }) => countText(watches),
  },
  {
    id: 'requests',
    title: 'Requests',
    description: 'Since its shard was started',
    isNumber: true,
    value: ({ requests }) => requests,
    render: ({ requests }) => countText(requests),
  },
];

/** By its path, which is asked for only of rows on the screen. */
function WorkspaceLink({ cluster }: { readonly cluster: string }): ReactElement {
  const { data } = useLogicalCluster(cluster);
  return (
    <Link className="cell-name" to={workspaceUrl(cluster)}>
      {data?.metadata.annotations?.['kcp.io/path'] ?? cluster}
    </Link>
  );
}

/** The workspaces that lead by objects, bytes, watches or requests. It reads the usage of all of them, so not by itself again. */
export function TenantsTab(): ReactElement {
  const { api } = useApp();
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ['operator', 'tenants'],
    queryFn: ({ signal }) => api.json<Tenants>('operator/tenants', { signal }),
    staleTime: Infinity,
  });
  if (data === undefined)
    return error === null ? (
      <Loading label="Reading the usage of all workspaces" />
    ) : (
      <Notice tone="bad" title="The usage of workspaces cannot be read">
        {error.message}
      </Notice>
    );
  return (
    <div className="stack">
      {data.failures.map(({ shard, message }) => (
        <Notice key={shard} tone="warn" title={`${shard} is missing`}>
          {message}
        </Notice>
      ))}
      {data.isTruncated && (
        <Notice tone="info" title="Not all workspaces are examined">
          There are more than the console reads at once.
        </Notice>
      )}
      <Card
        title="Largest and busiest workspaces"
        description={`Those that lead by one of the figures, of ${countText(data.examined)} workspaces. Click a title to sort by it.`}
        actions={
          <Button icon="refresh" isBusy={isFetching} onClick={() => void refetch()}>
            Read again
          </Button>
        }
        isFlush
      >
        <DataTable
          label="Largest and busiest workspaces"
          rows={data.tenants}
          columns={columns}
          keyOf={({ shard, cluster }) => `${shard}/${cluster}`}
          initialSort={{ column: 'requests', isDescending: true }}
          maxHeight={560}
        />
      </Card>
    </div>
  );
}
