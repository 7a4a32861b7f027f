import type { ReactElement } from 'react';
import { Link, useNavigate } from 'react-router';
import { Age } from '../../components/age.tsx';
import { Badge } from '../../components/badge.tsx';
import { Card } from '../../components/card.tsx';
import { CommandBox } from '../../components/command-box.tsx';
import { DataTable, type DataColumn } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { useCluster } from '../../hooks/use-cluster.ts';
import { useDiscovery } from '../../hooks/use-discovery.ts';
import { useObjects } from '../../hooks/use-objects.ts';
import { freshnessOf, stateOf, type ApiExport, type CachedResource } from '../../model/provider.ts';
import { objectUrl, workspaceUrl } from '../page-definition.ts';

const exportColumns: readonly DataColumn<ApiExport>[] = [
  {
    id: 'name',
    title: 'Name',
    weight: 3,
    value: ({ metadata }) => metadata.name,
    render: ({ metadata }) => <span className="cell-name">{metadata.name}</span>,
  },
  {
    id: 'state',
    title: 'State',
    weight: 1.5,
    value: (each) => stateOf(each).text,
    render: (each) => {
      const { tone, text, detail } = stateOf(each);
      return (
        <Badge tone={tone} title={detail}>
          {text}
        </Badge>
      );
    },
  },
  { id: 'resources', title: 'Resources', isNumber: true, value: ({ spec }) => spec?.resources?.length ?? 0 },
  { id: 'claims', title: 'Claims', isNumber: true, value: ({ spec }) => spec?.permissionClaims?.length ?? 0 },
  {
    id: 'age',
    title: 'Age',
    value: ({ metadata }) => metadata.creationTimestamp,
    render: ({ metadata }) => metadata.creationTimestamp !== undefined && <Age of={metadata.creationTimestamp} />,
  },
];

/** What a workspace offers to others: its exports, and what it caches for them. */
export function ProviderPage(): ReactElement {
  const cluster = useCluster();
  const navigate = useNavigate();
  const { items, isSynced, failure } = useObjects<ApiExport>({
    cluster,
    group: 'apis.kcp.io',
    version: 'v1alpha2',
    resource: 'apiexports',
  });
  return (
    <div className="stack">
      <PageHeader
        title="Provider"
        description="The APIs that this workspace offers to other workspaces, and who uses them."
      />
      {failure !== undefined && (
        <Notice tone="bad" title="The exports cannot be listed">
          {failure.message}
        </Notice>
      )}
      {!isSynced && failure === undefined && <Loading />}
      {isSynced && items.length === 0 && <FirstExport cluster={cluster} />}
      {items.length > 0 && (
        <Card title="Exports" description="Consumers bind an export and get its resources in their workspace." isFlush>
          <DataTable
            label="Exports"
            rows={items}
            columns={exportColumns}
            keyOf={({ metadata }) => metadata.name}
            initialSort={{ column: 'name' }}
            maxHeight={420}
            onOpen={({ metadata }) =>
              void navigate(workspaceUrl(cluster, `provider/${encodeURIComponent(metadata.name)}`))
            }
          />
        </Card>
      )}
      <CachedResources cluster={cluster} />
    </div>
  );
}

const FirstExport = ({ cluster }: { readonly cluster: string }): ReactElement => (
  <EmptyState icon="provider" title="This workspace offers no API yet">
    <p>
      An APIExport names resources with their schemas. Workspaces that bind it get these resources; you see their
      objects from all workspaces at one address.
    </p>
    <p>Take the schemas from a definition that you have, then export them:</p>
    <CommandBox
      label="The first export"
      command={`kubectl ws :${cluster}
kubectl kcp crd snapshot -f crd.yaml --prefix v1 | kubectl apply -f -
kubectl apply -f - <<'EOF'
apiVersion: apis.kcp.io/v1alpha2
kind: APIExport
metadata: {name: widgets}
spec:
  resources:
  - {group: example.com, name: widgets, schema: v1.widgets.example.com, storage: {crd: {}}}
EOF`}
    />
  </EmptyState>
);

const cachedColumns = (cluster: string): readonly DataColumn<CachedResource>[] => [
  {
    id: 'name',
    title: 'Name',
    weight: 2,
    value: ({ metadata }) => metadata.name,
    render: ({ metadata }) => (
      <Link
        className="cell-name"
        to={objectUrl(
          cluster,
          { group: 'cache.kcp.io', version: 'v1alpha1', resource: 'cachedresources' },
          metadata.name,
        )}
      >
        {metadata.name}
      </Link>
    ),
  },
  {
    id: 'resource',
    title: 'Resource',
    weight: 2.5,
    value: ({ spec }) => [spec.resource, spec.group].filter(Boolean).join('.'),
  },
  {
    id: 'selector',
    title: 'Selected by',
    weight: 2,
    value: ({ spec }) =>
      Object.entries(spec.labelSelector ?? {})
        .map(([key, value]) => `${key}=${value}`)
        .join(',') || 'All objects',
  },
  { id: 'local', title: 'Here', isNumber: true, value: ({ status }) => status?.resourceCounts?.local },
  { id: 'cache', title: 'Cached', isNumber: true, value: ({ status }) => status?.resourceCounts?.cache },
  {
    id: 'freshness',
    title: 'Freshness',
    weight: 1.6,
    value: (each) => freshnessOf(each).text,
    render: (each) => {
      const { tone, text, detail } = freshnessOf(each);
      return (
        <Badge tone={tone} title={detail}>
          {text}
        </Badge>
      );
    },
  },
];

/** Only where their API is bound. */
function CachedResources({ cluster }: { readonly cluster: string }): ReactElement | null {
  const { data = [] } = useDiscovery(cluster);
  const isServed = data.some(({ group, resource }) => group === 'cache.kcp.io' && resource === 'cachedresources');
  const { items, isSynced } = useObjects<CachedResource>(
    isServed ? { cluster, group: 'cache.kcp.io', version: 'v1alpha1', resource: 'cachedresources' } : undefined,
  );
  if (!isSynced || items.length === 0) return null;
  return (
    <Card
      title="Cached resources"
      description="Objects of this workspace that all shards read from the cache; virtual resources of an export serve them to consumers."
      isFlush
    >
      <DataTable
        label="Cached resources"
        rows={items}
        columns={cachedColumns(cluster)}
        keyOf={({ metadata }) => metadata.name}
        initialSort={{ column: 'name' }}
        maxHeight={420}
      />
    </Card>
  );
}
