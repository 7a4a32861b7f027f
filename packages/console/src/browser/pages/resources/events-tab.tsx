import { useMemo, type ReactElement } from 'react';
import { Age } from '../../components/age.tsx';
import { Badge } from '../../components/badge.tsx';
import { DataTable, type DataColumn } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { collectionPath } from '../../data/api-paths.ts';
import { objectCodec, type Codec } from '../../data/codec.ts';
import type { KubeObject } from '../../data/kube-object.ts';
import { useLiveList } from '../../hooks/use-live-list.ts';

interface Event extends KubeObject {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly note?: string;
  readonly count?: number;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly source?: { readonly component?: string };
  readonly reportingComponent?: string;
}

const timeOf = ({ lastTimestamp, eventTime, metadata }: Event): string =>
  lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? '';

const columns: readonly DataColumn<Event>[] = [
  {
    id: 'type',
    title: 'Type',
    weight: 0.8,
    value: ({ type }) => type,
    render: ({ type = 'Normal' }) => <Badge tone={type === 'Warning' ? 'warn' : 'neutral'}>{type}</Badge>,
  },
  { id: 'reason', title: 'Reason', weight: 1.2, value: ({ reason }) => reason },
  { id: 'message', title: 'Message', weight: 4, value: ({ message }) => message },
  {
    id: 'from',
    title: 'From',
    weight: 1.4,
    value: ({ source, reportingComponent }) => source?.component ?? reportingComponent,
  },
  { id: 'count', title: 'Count', weight: 0.6, isNumber: true, value: ({ count = 1 }) => count },
  {
    id: 'last',
    title: 'Last seen',
    weight: 0.8,
    value: (event) => -Date.parse(timeOf(event)),
    render: (event) => <Age of={timeOf(event)} />,
  },
];

/** What controllers reported about the object. */
export function EventsTab({
  cluster,
  object: { metadata },
}: {
  readonly cluster: string;
  readonly object: KubeObject;
}): ReactElement {
  const namespace = metadata.namespace ?? 'default';
  const { uid = '' } = metadata;
  const options = useMemo(
    () => ({
      path: collectionPath({ cluster, group: '', version: 'v1', resource: 'events', namespace }),
      fieldSelector: `involvedObject.uid=${uid}`,
      codec: objectCodec as Codec<Event>,
    }),
    [cluster, namespace, uid],
  );
  const { items, isSynced, failure } = useLiveList(options);
  if (!isSynced && failure !== undefined)
    return (
      <Notice tone="bad" title="The events cannot be listed">
        {failure.message}
      </Notice>
    );
  if (!isSynced) return <Loading />;
  if (items.length === 0)
    return (
      <EmptyState icon="clock" title="No events">
        <p>
          Controllers report here what they did with the object, and what went wrong. Events are kept for an hour by
          custom.
        </p>
      </EmptyState>
    );
  return (
    <div className="table-frame">
      <DataTable
        label="Events"
        rows={items}
        columns={columns}
        keyOf={({ metadata: { name } }) => name}
        initialSort={{ column: 'last' }}
        maxHeight={560}
      />
    </div>
  );
}
