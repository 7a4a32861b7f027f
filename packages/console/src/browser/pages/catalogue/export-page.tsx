import { useQuery } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { Link, useParams } from 'react-router';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { ConditionList } from '../../components/condition-list.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { clusterPath } from '../../data/api-paths.ts';
import { useApp } from '../../hooks/app-context.ts';
import { useBindings } from '../../hooks/use-bindings.ts';
import { useCluster } from '../../hooks/use-cluster.ts';
import { isBindingOf, type ApiBinding, type ApiExport } from '../../model/api-export.ts';
import { conditionTone, phaseTone } from '../../model/tone.ts';
import { workspaceUrl } from '../page-definition.ts';
import { BindForm } from './bind-form.tsx';
import { FirstObject } from './first-object.tsx';
import { ExportedResources } from './exported-resources.tsx';
import { UnbindDialog } from './unbind-dialog.tsx';
import './catalogue.css';

/** One export: what it serves, what its provider asks for, and the binding of this workspace. */
export function ExportPage(): ReactElement {
  const cluster = useCluster();
  const { provider = '', export: name = '' } = useParams();
  const { api } = useApp();
  const [isUnbinding, setIsUnbinding] = useState(false);
  const { data: own, error } = useQuery({
    queryKey: ['export', provider, name],
    queryFn: ({ signal }) =>
      api.json<ApiExport>(`${clusterPath(provider)}/apis/apis.kcp.io/v1alpha2/apiexports/${encodeURIComponent(name)}`, {
        signal,
      }),
    retry: false,
  });
  const bindings = useBindings(cluster);
  const binding = bindings.items.find((candidate) => isBindingOf(candidate, provider, name));
  if ((own === undefined && error === null) || !bindings.isSynced) return <Loading />;
  const phase = binding?.status?.phase;
  return (
    <>
      <PageHeader
        above={<Link to={workspaceUrl(cluster, 'catalogue')}>API catalogue</Link>}
        title={name}
        badge={binding !== undefined && <Badge tone={phaseTone(phase ?? 'Binding')}>{phase ?? 'Binding'}</Badge>}
        description={
          <>
            Offered by <code>{provider}</code>
          </>
        }
        actions={
          binding !== undefined && (
            <Button icon="trash" onClick={() => setIsUnbinding(true)}>
              Unbind
            </Button>
          )
        }
      />
      <div className="export-columns">
        <div className="stack">
          {binding !== undefined && <FirstObject cluster={cluster} binding={binding} />}
          {own === undefined ? (
            <Notice tone="info" title="The export itself is not visible to you">
              Its provider does not let you read it. You can still bind it if you know that you may.
            </Notice>
          ) : (
            <ExportedResources provider={provider} of={own} />
          )}
        </div>
        <div className="stack">
          <BindForm
            key={binding?.metadata.uid ?? 'new'}
            cluster={cluster}
            provider={provider}
            name={name}
            of={own}
            binding={binding}
          />
          {binding !== undefined && <NotMet binding={binding} />}
        </div>
      </div>
      {isUnbinding && binding !== undefined && (
        <UnbindDialog cluster={cluster} binding={binding} onClose={() => setIsUnbinding(false)} />
      )}
    </>
  );
}

function NotMet({ binding }: { readonly binding: ApiBinding }): ReactElement | null {
  const conditions = (binding.status?.conditions ?? []).filter((condition) => conditionTone(condition) !== 'good');
  if (conditions.length === 0) return null;
  return (
    <Card title="Conditions that are not met">
      <ConditionList conditions={conditions} />
    </Card>
  );
}
