import { useQuery } from '@tanstack/react-query';
import { useMemo, type ReactElement } from 'react';
import { Link, useParams, useSearchParams } from 'react-router';
import { Badge } from '../../components/badge.tsx';
import { Card } from '../../components/card.tsx';
import { CommandBox } from '../../components/command-box.tsx';
import { ConditionList } from '../../components/condition-list.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Facts } from '../../components/facts.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { useApp } from '../../hooks/app-context.ts';
import { useCluster } from '../../hooks/use-cluster.ts';
import { useLiveObject } from '../../hooks/use-live-object.ts';
import { useObjects } from '../../hooks/use-objects.ts';
import { claimWords } from '../../model/claim-words.ts';
import {
  exportedResources,
  slicesOf,
  stateOf,
  type ApiExport,
  type ApiResourceSchema,
  type EndpointSlice,
} from '../../model/provider.ts';
import { objectUrl, workspaceUrl } from '../page-definition.ts';
import { ConsumersTable, type Consumers } from './consumers-table.tsx';
import { ScopesTable } from './scopes-table.tsx';
import './provider.css';

const exportsResource = { group: 'apis.kcp.io', version: 'v1alpha2', resource: 'apiexports' };
const schemasResource = { group: 'apis.kcp.io', version: 'v1alpha1', resource: 'apiresourceschemas' };
const slicesResource = { group: 'apis.kcp.io', version: 'v1alpha1', resource: 'apiexportendpointslices' };
/** Consumers are collected from all shards and cannot be watched at one address. */
const refreshMs = 15_000;

/** One export: what it offers, to whom, and where its objects are reached. */
export function ExportPage(): ReactElement {
  const cluster = useCluster();
  const name = useParams()['export'] ?? '';
  const { items, isSynced, failure } = useLiveObject<ApiExport>({ cluster, ...exportsResource }, name);
  const exported = items[0];
  const above = <Link to={workspaceUrl(cluster, 'provider')}>Provider</Link>;
  if (exported === undefined)
    return (
      <div className="stack">
        <PageHeader title={name} above={above} />
        {failure !== undefined && (
          <Notice tone="bad" title="The export cannot be read">
            {failure.message}
          </Notice>
        )}
        {isSynced ? <Notice tone="warn" title="There is no such export, or not any more" /> : <Loading />}
      </div>
    );
  const { tone, text, detail } = stateOf(exported);
  return (
    <div className="stack">
      <PageHeader
        title={name}
        above={above}
        badge={
          <Badge tone={tone} title={detail}>
            {text}
          </Badge>
        }
        description={<Link to={objectUrl(cluster, exportsResource, name)}>APIExport with all its fields</Link>}
      />
      <ExportTabs cluster={cluster} exported={exported} />
    </div>
  );
}

function ExportTabs({ cluster, exported }: { readonly cluster: string; readonly exported: ApiExport }): ReactElement {
  const [search, setSearch] = useSearchParams();
  const { name } = exported.metadata;
  const consumers = useConsumers(exported);
  const resources = exported.spec?.resources?.length ?? 0;
  const found = consumers.data?.consumers.length;
  const count = (number: number | undefined): ReactElement | false =>
    number !== undefined && <span className="tab-count">{number}</span>;
  return (
    <Tabs
      label="Parts of the export"
      selected={search.get('tab') ?? 'consumers'}
      onSelect={(tab) => setSearch({ tab }, { replace: true })}
      tabs={[
        {
          id: 'consumers',
          label: <>Consumers {count(found)}</>,
          content: <ConsumersTable cluster={cluster} exported={exported} consumers={consumers} />,
        },
        {
          id: 'resources',
          label: <>Resources {count(resources)}</>,
          content: <Resources cluster={cluster} exported={exported} />,
        },
        { id: 'endpoints', label: 'Endpoints', content: <Endpoints cluster={cluster} exported={exported} /> },
        { id: 'scopes', label: 'Scopes', content: <ScopesTable cluster={cluster} exportName={name} /> },
        {
          id: 'conditions',
          label: 'Conditions',
          content: (
            <Card title="Conditions">
              <ConditionList conditions={exported.status?.conditions ?? []} />
            </Card>
          ),
        },
      ]}
    />
  );
}

function useConsumers({ metadata }: ApiExport): Consumers {
  const { api } = useApp();
  const logicalCluster = metadata.annotations?.['kcp.io/cluster'] ?? '';
  const { data, error } = useQuery({
    queryKey: ['consumers', logicalCluster, metadata.name],
    queryFn: ({ signal }) =>
      api.json<NonNullable<Consumers['data']>>(
        `provider/consumers?cluster=${encodeURIComponent(logicalCluster)}&export=${encodeURIComponent(metadata.name)}`,
        { signal },
      ),
    refetchInterval: refreshMs,
  });
  return { data, error };
}

function Resources({ cluster, exported }: { readonly cluster: string; readonly exported: ApiExport }): ReactElement {
  const { items, isSynced } = useObjects<ApiResourceSchema>({ cluster, ...schemasResource });
  const resources = useMemo(
    () => exportedResources(exported, isSynced ? new Map(items.map((item) => [item.metadata.name, item])) : undefined),
    [exported, items, isSynced],
  );
  const claims = exported.spec?.permissionClaims ?? [];
  const hasPolicy = exported.spec?.maximalPermissionPolicy?.local !== undefined;
  return (
    <div className="stack">
      {resources.length === 0 && (
        <Notice tone="info" title="This export has no resources">
          Consumers can bind it, and get nothing but its claims. Add resources with their schemas to{' '}
          <code>spec.resources</code>.
        </Notice>
      )}
      <ul className="resource-cards">
        {resources.map(({ key, group, resource, kind, scope, schema, versions, storage, isMissing }) => (
          <li key={key} className="card resource-card">
            <h2>
              {kind ?? resource}
              {isMissing && <Badge tone="bad">Schema missing</Badge>}
            </h2>
            <p className="mono muted">
              {resource}.{group}
            </p>
            <Facts
              of={[
                [
                  'Versions',
                  versions.length === 0 ? undefined : (
                    <span className="row">
                      {versions.map((version) => (
                        <span key={version.name} className="tag">
                          {[version.name, version.note].filter(Boolean).join(' · ')}
                        </span>
                      ))}
                    </span>
                  ),
                ],
                ['Scope', scope],
                ['Objects', storage],
                ['Schema', <Link to={objectUrl(cluster, schemasResource, schema)}>{schema}</Link>],
              ]}
            />
          </li>
        ))}
      </ul>
      <Card
        title="What it asks of consumers"
        description="Claims are rights in the workspace of a consumer, who accepts or rejects each of them."
      >
        {claims.length === 0 ? (
          <p className="muted">Nothing: this export has no permission claims.</p>
        ) : (
          <ul className="claim-list">
            {claims.map((claim) => (
              <li key={`${claim.resource}.${claim.group ?? ''}`}>
                <strong>{claimWords(claim).title}</strong>
                <p className="muted">{claimWords(claim).text}</p>
              </li>
            ))}
          </ul>
        )}
        {hasPolicy && (
          <p className="claim-note">
            A maximal permission policy limits what users of consumers may do with these resources: the roles in this
            workspace for users with the prefix <code>apis.kcp.io:binding:</code>.
          </p>
        )}
      </Card>
    </div>
  );
}

function Endpoints({ cluster, exported }: { readonly cluster: string; readonly exported: ApiExport }): ReactElement {
  const { name, annotations = {} } = exported.metadata;
  const { items, isSynced } = useObjects<EndpointSlice>({ cluster, ...slicesResource });
  const paths = new Set([cluster, annotations['kcp.io/path'] ?? '', annotations['kcp.io/cluster'] ?? '']);
  const urls = [
    ...new Set(
      slicesOf(items, { name, paths }).flatMap(({ status }) => (status?.endpoints ?? []).map(({ url }) => url)),
    ),
  ];
  return (
    <div className="stack">
      <Card
        title="Endpoints"
        description="A controller reads and writes the objects of all consumers here. There is one endpoint for each shard that has consumers."
      >
        {!isSynced ? (
          <Loading rows={2} />
        ) : urls.length === 0 ? (
          <p className="muted">None yet: a shard adds its endpoint with the first consumer that it has.</p>
        ) : (
          <ul className="endpoint-list">
            {urls.map((url) => (
              <li key={url}>
                <code>{url}</code>
                <CopyButton text={url} label={`Copy ${url}`} />
              </li>
            ))}
          </ul>
        )}
      </Card>
      {exported.status?.identityHash !== undefined && (
        <Card title="Identity" description="Exports with the same identity are the same API to consumers and claims.">
          <div className="endpoint-list">
            <div>
              <code>{exported.status.identityHash}</code>
              <CopyButton text={exported.status.identityHash} label="Copy the identity" />
            </div>
          </div>
        </Card>
      )}
      <CommandBox
        label="Objects of all consumers with kubectl"
        command={`kubectl ws :${cluster}
kubectl get apiexportendpointslice ${name} -o jsonpath='{.status.endpoints[*].url}'
kubectl --server '<url>/clusters/*' get <resource> --all-namespaces`}
      />
    </div>
  );
}
