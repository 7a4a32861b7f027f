import type { ReactElement } from 'react';
import { Link } from 'react-router';
import { Age } from '../../components/age.tsx';
import { Badge } from '../../components/badge.tsx';
import { Card } from '../../components/card.tsx';
import { CommandBox } from '../../components/command-box.tsx';
import { DataTable, type DataColumn } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { claimState, type ApiExport, type Claim } from '../../model/provider.ts';
import { phaseTone } from '../../model/tone.ts';
import { workspaceUrl } from '../page-definition.ts';

interface Consumer {
  readonly cluster: string;
  readonly path: string;
  readonly binding: string;
  readonly phase: string;
  readonly creationTimestamp: string;
  readonly claims: readonly Claim[];
}

export interface Consumers {
  readonly data:
    | {
        readonly consumers: readonly Consumer[];
        readonly failures: readonly { readonly url: string; readonly message: string }[];
        readonly isTruncated: boolean;
      }
    | undefined;
  readonly error: Error | null;
}

const columns: readonly DataColumn<Consumer>[] = [
  {
    id: 'workspace',
    title: 'Workspace',
    weight: 3,
    value: ({ path }) => path,
    render: ({ path, cluster }) => (
      <Link className="cell-name" to={workspaceUrl(cluster)}>
        {path}
      </Link>
    ),
  },
  { id: 'binding', title: 'Binding', weight: 2, value: ({ binding }) => binding },
  {
    id: 'phase',
    title: 'Phase',
    value: ({ phase }) => phase,
    render: ({ phase }) => <Badge tone={phaseTone(phase)}>{phase === '' ? 'New' : phase}</Badge>,
  },
  {
    id: 'claims',
    title: 'Claims',
    weight: 1.6,
    value: ({ claims }) => claimState(claims).text,
    render: ({ claims }) => {
      const { tone, text, detail } = claimState(claims);
      return (
        <Badge tone={tone} title={detail}>
          {text}
        </Badge>
      );
    },
  },
  {
    id: 'age',
    title: 'Bound for',
    value: ({ creationTimestamp }) => creationTimestamp,
    render: ({ creationTimestamp }) => <Age of={creationTimestamp} />,
  },
];

/** The workspaces that have bound an export. */
export function ConsumersTable({
  cluster,
  exported,
  consumers: { data, error },
}: {
  readonly cluster: string;
  readonly exported: ApiExport;
  readonly consumers: Consumers;
}): ReactElement {
  const { name, annotations = {} } = exported.metadata;
  const path = annotations['kcp.io/path'] ?? cluster;
  if (error !== null)
    return (
      <Notice tone="bad" title="The consumers cannot be listed">
        {error.message}
      </Notice>
    );
  if (data === undefined) return <Loading />;
  return (
    <div className="stack">
      {data.failures.map(({ url, message }) => (
        <Notice key={url} tone="warn" title="The consumers of one shard are missing">
          {url}: {message}
        </Notice>
      ))}
      {data.isTruncated && (
        <Notice tone="info" title="There are more consumers than are listed here">
          List all of them through the endpoints, with kubectl.
        </Notice>
      )}
      {data.consumers.length === 0 ? (
        <EmptyState icon="plug" title="Nobody uses this export yet">
          <p>Who may bind it is a role in this workspace. Allow everybody who is logged in, then bind it elsewhere:</p>
          <CommandBox
            label="The first consumer"
            command={`kubectl ws :${cluster}
kubectl create clusterrole bind-${name} --verb=bind --resource=apiexports.apis.kcp.io --resource-name=${name}
kubectl create clusterrolebinding bind-${name} --clusterrole=bind-${name} --group=system:authenticated
kubectl ws :root && kubectl create workspace consumer --enter
kubectl kcp bind apiexport ${path}:${name}`}
          />
        </EmptyState>
      ) : (
        <Card title="Consumers" description="Workspaces with a binding to this export, on all shards." isFlush>
          <DataTable
            label="Consumers"
            rows={data.consumers}
            columns={columns}
            keyOf={({ cluster: consumer, binding }) => `${consumer}/${binding}`}
            initialSort={{ column: 'workspace' }}
            maxHeight={560}
          />
        </Card>
      )}
    </div>
  );
}
