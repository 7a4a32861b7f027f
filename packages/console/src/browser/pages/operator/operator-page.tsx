import { useQuery } from '@tanstack/react-query';
import type { ReactElement, ReactNode } from 'react';
import { useSearchParams } from 'react-router';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { ApiError } from '../../data/api-error.ts';
import { useApp } from '../../hooks/app-context.ts';
import { countText, totalsOf, type ShardFigures } from '../../model/operator.ts';
import { FlowControlTab } from './flow-control-tab.tsx';
import { PendingTab } from './pending-tab.tsx';
import { ShardsTab } from './shards-tab.tsx';
import { TenantsTab } from './tenants-tab.tsx';
import './operator.css';

const refreshMs = 10_000;

/** The control plane as a whole: shards, what does not become ready, the largest tenants, flow control. */
export function OperatorPage(): ReactElement {
  const { api } = useApp();
  const [search, setSearch] = useSearchParams();
  const { data, error } = useQuery({
    queryKey: ['operator', 'metrics'],
    queryFn: ({ signal }) => api.json<{ readonly shards: readonly ShardFigures[] }>('operator/metrics', { signal }),
    refetchInterval: refreshMs,
  });
  const header = (
    <PageHeader
      title="Operator"
      description="The control plane as a whole, as its shards report it. Figures are read again every ten seconds."
    />
  );
  if (error instanceof ApiError && error.code === 403)
    return (
      <div className="stack">
        {header}
        <Notice tone="info" title="This page is for operators of the control plane">
          It needs the rights to list the shards and to read their metrics, which you do not have: {error.message}
        </Notice>
      </div>
    );
  const shards = data?.shards;
  if (shards === undefined)
    return (
      <div className="stack">
        {header}
        {error === null ? (
          <Loading />
        ) : (
          <Notice tone="bad" title="The figures cannot be read">
            {error.message}
          </Notice>
        )}
      </div>
    );
  const { ready, workspaces, pending, inFlight, watches } = totalsOf(shards);
  return (
    <div className="stack">
      {header}
      {error !== null && (
        <Notice tone="warn" title="These figures are old">
          {error.message}
        </Notice>
      )}
      <dl className="tiles">
        <Tile title="Shards ready" tone={ready < shards.length ? 'bad' : 'good'}>
          {ready} <span className="muted">of {shards.length}</span>
        </Tile>
        <Tile title="Workspaces">{countText(workspaces)}</Tile>
        <Tile title="Not ready" tone={pending > 0 ? 'warn' : 'good'}>
          {countText(pending)}
        </Tile>
        <Tile title="Requests in flight">{countText(inFlight)}</Tile>
        <Tile title="Open watches">{countText(watches)}</Tile>
      </dl>
      <Tabs
        label="Parts of the control plane"
        selected={search.get('tab') ?? 'shards'}
        onSelect={(tab) => setSearch({ tab }, { replace: true })}
        tabs={[
          { id: 'shards', label: 'Shards', content: <ShardsTab shards={shards} /> },
          {
            id: 'pending',
            label: <>Not ready {pending > 0 && <span className="tab-count">{pending}</span>}</>,
            content: <PendingTab shards={shards} />,
          },
          { id: 'tenants', label: 'Largest and busiest', content: <TenantsTab /> },
          { id: 'flow', label: 'Flow control', content: <FlowControlTab shards={shards} /> },
        ]}
      />
    </div>
  );
}

function Tile({
  title,
  tone = 'neutral',
  children,
}: {
  readonly title: string;
  readonly tone?: 'good' | 'warn' | 'bad' | 'neutral';
  readonly children: ReactNode;
}): ReactElement {
  return (
    <div className={`tile tile-${tone}`}>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </div>
  );
}
