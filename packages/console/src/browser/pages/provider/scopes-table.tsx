import type { ReactElement } from 'react';
import { Link } from 'react-router';
import { Badge } from '../../components/badge.tsx';
import { Card } from '../../components/card.tsx';
import { CommandBox } from '../../components/command-box.tsx';
import { DataTable, type DataColumn } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Loading } from '../../components/loading.tsx';
import { useDiscovery } from '../../hooks/use-discovery.ts';
import { useObjects } from '../../hooks/use-objects.ts';
import { firstProblem, scopeObjects, transferText, type ExportScope } from '../../model/provider.ts';
import { conditionTone } from '../../model/tone.ts';
import { objectUrl } from '../page-definition.ts';

const scopes = { group: 'scopes.multiplane.dev', version: 'v1alpha1', resource: 'apiexportscopes' };

const columns = (cluster: string): readonly DataColumn<ExportScope>[] => [
  {
    id: 'name',
    title: 'Scope',
    weight: 2,
    value: ({ metadata }) => metadata.name,
    render: ({ metadata }) => (
      <Link className="cell-name" to={objectUrl(cluster, scopes, metadata.name)}>
        {metadata.name}
      </Link>
    ),
  },
  {
    id: 'selects',
    title: 'Objects with',
    weight: 2.5,
    value: ({ status }) => (status?.key === undefined ? '' : `${status.key}=${status.value ?? ''}`),
    render: ({ status }) => status?.key !== undefined && <code>{`${status.key}=${status.value ?? ''}`}</code>,
  },
  { id: 'objects', title: 'Objects', isNumber: true, value: scopeObjects },
  { id: 'shards', title: 'Shards', isNumber: true, value: ({ status }) => status?.shards?.length ?? 0 },
  { id: 'transfer', title: 'Transfer', weight: 2, value: ({ spec }) => transferText(spec.transfer) },
  {
    id: 'state',
    title: 'State',
    weight: 1.5,
    value: ({ status }) => firstProblem(status?.conditions)?.type ?? 'Ready',
    render: ({ status }) => {
      const problem = firstProblem(status?.conditions);
      return problem === undefined ? (
        <Badge tone="good">Ready</Badge>
      ) : (
        <Badge tone={conditionTone(problem)} title={problem.message}>
          {problem.type}
        </Badge>
      );
    },
  },
];

/** The scopes of an export: parts of its objects for several providers. */
export function ScopesTable({
  cluster,
  exportName,
}: {
  readonly cluster: string;
  readonly exportName: string;
}): ReactElement {
  const { data } = useDiscovery(cluster);
  const isServed = data?.some(({ group, resource }) => group === scopes.group && resource === scopes.resource);
  const { items, isSynced } = useObjects<ExportScope>(isServed === true ? { cluster, ...scopes } : undefined);
  if (data === undefined || (isServed === true && !isSynced)) return <Loading />;
  const own = items.filter(({ spec }) => spec.export.name === exportName && !spec.export.path);
  if (own.length === 0)
    return (
      <EmptyState icon="filter" title="This export has no scopes">
        <p>
          A scope gives one provider the objects with a label, and nothing else. With several scopes, several providers
          share an export without seeing each other.
        </p>
        <CommandBox
          label="The first scope"
          command={`kubectl ws :${cluster}${isServed === true ? '' : '\nkubectl kcp bind apiexport root:scopes.multiplane.dev'}
kubectl apply -f - <<'EOF'
apiVersion: scopes.multiplane.dev/v1alpha1
kind: APIExportScope
metadata: {name: acme}
spec:
  export: {name: ${exportName}}
  selector: {matchLabels: {example.com/provider: acme}}
EOF`}
        />
      </EmptyState>
    );
  return (
    <Card
      title="Scopes"
      description="Each gives one provider the objects with its label, at endpoints of their own."
      isFlush
    >
      <DataTable
        label="Scopes"
        rows={own}
        columns={columns(cluster)}
        keyOf={({ metadata }) => metadata.name}
        initialSort={{ column: 'name' }}
        maxHeight={560}
      />
    </Card>
  );
}
