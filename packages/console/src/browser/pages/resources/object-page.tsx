import { useMemo, useState, type ReactElement } from 'react';
import { Link, useNavigate, useParams, useSearchParams } from 'react-router';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Tabs } from '../../components/tabs.tsx';
import type { KubeObject } from '../../data/kube-object.ts';
import { useLiveObject } from '../../hooks/use-live-object.ts';
import { apiVersionOf, kubectlName, type ApiResource } from '../../model/discovery.ts';
import { stateOf } from '../../model/object-status.ts';
import { conditionTone, phaseTone } from '../../model/tone.ts';
import { resourceUrl } from '../page-definition.ts';
import { DeleteObjectDialog } from './delete-object-dialog.tsx';
import { EventsTab } from './events-tab.tsx';
import { ManagedFieldsTab } from './managed-fields-tab.tsx';
import { OverviewTab } from './overview-tab.tsx';
import { RelatedTab } from './related-tab.tsx';
import { useResource } from './use-resource.ts';
import { YamlTab } from './yaml-tab.tsx';
import './resources.css';

/** One object of any resource, live. */
export function ObjectPage(): ReactElement {
  const { address, resource, isKnown } = useResource();
  const { name = '' } = useParams();
  const [search] = useSearchParams();
  const namespace = search.get('namespace') ?? undefined;
  if (!isKnown) return <Loading />;
  if (resource === undefined)
    return (
      <EmptyState isPage icon="resources" title={`${address.resource} is not served here`}>
        <p>The workspace may have had a binding or a definition for it.</p>
      </EmptyState>
    );
  return (
    <ObjectDetails
      key={`${namespace ?? ''}/${name}`}
      cluster={address.cluster}
      resource={resource}
      name={name}
      namespace={namespace}
    />
  );
}

function ObjectDetails({
  cluster,
  resource,
  name,
  namespace,
}: {
  readonly cluster: string;
  readonly resource: ApiResource;
  readonly name: string;
  readonly namespace: string | undefined;
}): ReactElement {
  const [search, setSearch] = useSearchParams();
  const navigate = useNavigate();
  const [isDeleting, setIsDeleting] = useState(false);
  const { items, isSynced, failure } = useLiveObject<KubeObject>({ cluster, ...resource, namespace }, name);
  const object = useMemo(
    () =>
      // Items of a list carry no kind of their own.
      items[0] === undefined ? undefined : { ...items[0], apiVersion: apiVersionOf(resource), kind: resource.kind },
    [items, resource],
  );
  const list = resourceUrl(cluster, resource);
  if (object === undefined) {
    if (failure !== undefined)
      return (
        <Notice tone="bad" title="The object cannot be read">
          {failure.message}
        </Notice>
      );
    if (!isSynced) return <Loading />;
    return (
      <EmptyState
        isPage
        icon="file"
        title={`${resource.kind} ${name} does not exist`}
        action={<Link to={list}>Show all {resource.kind}</Link>}
      >
        <p>It may have been deleted. This page shows it as soon as it is there.</p>
      </EmptyState>
    );
  }
  const select = (tab: string): void => {
    setSearch(
      (now) => {
        now.set('tab', tab);
        return now;
      },
      { replace: true },
    );
  };
  const where = { cluster, resource, object };
  return (
    <div className="page-fill object-page">
      <PageHeader
        above={
          <>
            <Link to={list}>{resource.kind}</Link>
            {namespace !== undefined && ` in namespace ${namespace}`}
          </>
        }
        title={name}
        badge={<StateBadge object={object} />}
        actions={
          <>
            <Button icon="edit" onClick={() => select('yaml')}>
              Edit
            </Button>
            {resource.verbs.includes('delete') && (
              <Button icon="trash" onClick={() => setIsDeleting(true)}>
                Delete
              </Button>
            )}
          </>
        }
      />
      <Tabs
        label="Parts of the object"
        selected={search.get('tab') ?? 'overview'}
        onSelect={select}
        tabs={[
          { id: 'overview', label: 'Overview', content: <OverviewTab {...where} /> },
          { id: 'yaml', label: 'YAML', content: <YamlTab {...where} /> },
          { id: 'related', label: 'Related', content: <RelatedTab {...where} /> },
          { id: 'events', label: 'Events', content: <EventsTab {...where} /> },
          { id: 'fields', label: 'Managed fields', content: <ManagedFieldsTab object={object} /> },
        ]}
      />
      {isDeleting && (
        <DeleteObjectDialog
          {...where}
          kubectlName={kubectlName(resource)}
          onClose={() => setIsDeleting(false)}
          onDeleted={() => void navigate(list)}
        />
      )}
    </div>
  );
}

/** Its phase, else its Ready condition, else nothing. */
function StateBadge({ object }: { readonly object: KubeObject }): ReactElement | null {
  if (object.metadata.deletionTimestamp !== undefined) return <Badge tone="warn">Deleting</Badge>;
  const { phase, conditions } = stateOf(object);
  if (phase !== undefined) return <Badge tone={phaseTone(phase)}>{phase}</Badge>;
  const ready = conditions.find(({ type }) => type === 'Ready');
  if (ready === undefined) return null;
  return (
    <Badge tone={conditionTone(ready)} title={ready.message}>
      {ready.status === 'True' ? 'Ready' : ready.reason === '' ? 'Not ready' : ready.reason}
    </Badge>
  );
}
