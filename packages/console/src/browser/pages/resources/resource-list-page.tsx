import { useMemo, useState, type ReactElement } from 'react';
import { Link, useNavigate, useSearchParams } from 'react-router';
import { Age } from '../../components/age.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { CommandBox } from '../../components/command-box.tsx';
import { DataTable, type DataColumn } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Loading } from '../../components/loading.tsx';
import { Menu } from '../../components/menu.tsx';
import { Notice } from '../../components/notice.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { collectionPath } from '../../data/api-paths.ts';
import { tableCodec } from '../../data/codec.ts';
import type { TableRow } from '../../data/kube-object.ts';
import { useLiveList } from '../../hooks/use-live-list.ts';
import { useSchema } from '../../hooks/use-schema.ts';
import { cellText } from '../../model/compare-cells.ts';
import { apiVersionOf, kubectlName, type ApiResource } from '../../model/discovery.ts';
import { tableColumns, type TableColumn } from '../../model/table-columns.ts';
import { phaseTone, type Tone } from '../../model/tone.ts';
import { objectUrl, workspaceUrl } from '../page-definition.ts';
import { CreateObjectDialog } from './create-object-dialog.tsx';
import { ListFilters, type ListFilter } from './list-filters.tsx';
import { useResource } from './use-resource.ts';
import './resources.css';

/** The objects of one resource, as the server's table, live. */
export function ResourceListPage(): ReactElement {
  const { address, resource, isKnown } = useResource();
  if (!isKnown) return <Loading />;
  if (resource === undefined)
    return (
      <EmptyState
        icon="resources"
        title={`${address.resource} is not served here`}
        action={<Link to={workspaceUrl(address.cluster, 'resources')}>Show what is</Link>}
      >
        <p>The workspace may have had a binding or a definition for it, or it is one of another workspace.</p>
      </EmptyState>
    );
  return (
    <ResourceList key={`${address.cluster}/${kubectlName(resource)}`} cluster={address.cluster} resource={resource} />
  );
}

const none: ReadonlySet<string> = new Set();

function ResourceList({
  cluster,
  resource,
}: {
  readonly cluster: string;
  readonly resource: ApiResource;
}): ReactElement {
  const [search, setSearch] = useSearchParams();
  const navigate = useNavigate();
  const [toggled, setToggled] = useState(none);
  const [isCreating, setIsCreating] = useState(false);
  const [text, setText] = useState('');
  const filter: ListFilter = {
    namespace: search.get('namespace') ?? '',
    labels: search.get('labels') ?? '',
    fields: search.get('fields') ?? '',
  };
  const { namespace, labels, fields } = filter;
  const setFilter = (next: ListFilter): void =>
    setSearch(
      Object.entries(next).filter(([, value]) => value !== ''),
      { replace: true },
    );
  const path = collectionPath({ cluster, ...resource, namespace });
  const options = useMemo(
    () => ({ path, labelSelector: labels, fieldSelector: fields, codec: tableCodec }),
    [path, labels, fields],
  );
  const { items, columns: served, isSynced, failure } = useLiveList(options);
  const tableOf = useMemo(() => tableColumns(served), [served]);
  const showsNamespace = resource.isNamespaced && namespace === '';
  const columns = useMemo(() => dataColumns(tableOf, showsNamespace), [tableOf, showsNamespace]);
  const hidden = useMemo(
    () => new Set(tableOf.filter(({ id, isWide }) => isWide !== toggled.has(id)).map(({ id }) => id)),
    [tableOf, toggled],
  );
  const rows = useMemo(() => matching(items, text.trim().toLowerCase()), [items, text]);
  const description = useSchema(cluster, resource)?.schema.description;
  const isFiltered = labels !== '' || fields !== '' || namespace !== '' || text !== '';
  const flags = [
    resource.isNamespaced ? (namespace === '' ? '--all-namespaces' : `--namespace ${namespace}`) : '',
    labels === '' ? '' : `--selector '${labels}'`,
    fields === '' ? '' : `--field-selector '${fields}'`,
  ].filter((flag) => flag !== '');
  const command = `kubectl ws :${cluster}\nkubectl get ${[kubectlName(resource), ...flags].join(' ')}`;
  const mayCreate = resource.verbs.includes('create');
  return (
    <div className="page-fill">
      <PageHeader
        above={<Link to={workspaceUrl(cluster, 'resources')}>Resources</Link>}
        title={resource.kind}
        badge={<span className="tag">{apiVersionOf(resource)}</span>}
        description={<span className="clamp-2">{description ?? `Objects of ${kubectlName(resource)}.`}</span>}
        actions={
          mayCreate && (
            <Button icon="plus" variant="primary" onClick={() => setIsCreating(true)}>
              Create
            </Button>
          )
        }
      />
      <div className="toolbar">
        <ListFilters
          cluster={cluster}
          isNamespaced={resource.isNamespaced}
          filter={filter}
          text={text}
          onFilter={setFilter}
          onText={setText}
        />
        <div className="toolbar-end">
          {isSynced && <span aria-live="polite">{countText(rows.length, items.length)}</span>}
          <Menu
            trigger={
              <Button icon="columns" size="medium">
                Columns
              </Button>
            }
            items={tableOf
              .filter(({ kind: own }) => own !== 'name')
              .map(({ id, title }) => ({
                id,
                label: title,
                isChecked: !hidden.has(id),
                onSelect: () =>
                  setToggled((all) => new Set(all.has(id) ? [...all].filter((other) => other !== id) : [...all, id])),
              }))}
          />
        </div>
      </div>
      {failure !== undefined && !isSynced && (
        <Notice tone="bad" title="The objects cannot be listed">
          {failure.message}
        </Notice>
      )}
      {!isSynced && failure === undefined && <Loading />}
      {isSynced && rows.length === 0 && (
        <div className="table-frame">
          {isFiltered ? (
            <EmptyState
              icon="filter"
              title="Nothing matches"
              action={
                <Button
                  onClick={() => {
                    setFilter({ namespace: '', labels: '', fields: '' });
                    setText('');
                  }}
                >
                  Show everything
                </Button>
              }
            >
              <p>No {resource.kind} has these labels, fields and names.</p>
            </EmptyState>
          ) : (
            <EmptyState
              icon="file"
              title={`No ${resource.kind} yet`}
              action={
                mayCreate && (
                  <Button icon="plus" variant="primary" onClick={() => setIsCreating(true)}>
                    Create the first one
                  </Button>
                )
              }
            >
              <p>{description ?? 'Objects appear here as soon as somebody creates them.'}</p>
            </EmptyState>
          )}
        </div>
      )}
      {rows.length > 0 && (
        <div className="table-frame table-frame-fill">
          <DataTable
            label={resource.kind}
            rows={rows}
            columns={columns}
            hidden={hidden}
            keyOf={({ object }) => `${object.metadata.namespace ?? ''}/${object.metadata.name}`}
            onOpen={({ object: { metadata } }) =>
              void navigate(objectUrl(cluster, resource, metadata.name, metadata.namespace))
            }
          />
        </div>
      )}
      <div className="list-command">
        <CommandBox command={command} />
      </div>
      {isCreating && (
        <CreateObjectDialog
          cluster={cluster}
          resource={resource}
          namespace={namespace === '' ? 'default' : namespace}
          onClose={() => setIsCreating(false)}
        />
      )}
    </div>
  );
}

const number = new Intl.NumberFormat('en');
const countText = (shown: number, all: number): string =>
  shown === all ? `${number.format(all)} objects` : `${number.format(shown)} of ${number.format(all)} objects`;

const matching = (rows: readonly TableRow[], text: string): readonly TableRow[] =>
  text === '' ? rows : rows.filter(({ object }) => object.metadata.name.includes(text));

function dataColumns(columns: readonly TableColumn[], showsNamespace: boolean): readonly DataColumn<TableRow>[] {
  const own = columns.map((column): DataColumn<TableRow> => ({
    id: column.id,
    title: column.title,
    description: column.description,
    weight: column.weight,
    isNumber: column.kind === 'number',
    // Ages are sorted by the time, the youngest first.
    value: (row) =>
      column.kind === 'age'
        ? -Date.parse(row.object.metadata.creationTimestamp ?? '') || undefined
        : row.cells[column.index],
    ...renderer(column),
  }));
  if (!showsNamespace) return own;
  const namespace: DataColumn<TableRow> = {
    id: 'namespace',
    title: 'Namespace',
    weight: 1.4,
    value: ({ object }) => object.metadata.namespace,
  };
  return [...own.slice(0, 1), namespace, ...own.slice(1)];
}

function renderer({ kind, index }: TableColumn): Pick<DataColumn<TableRow>, 'render'> {
  switch (kind) {
    case 'name':
      return {
        render: ({ cells, object }) => (
          <span className="cell-name">{cellText(cells[index] ?? object.metadata.name)}</span>
        ),
      };
    case 'age':
      return {
        render: ({ object: { metadata } }) =>
          metadata.creationTimestamp !== undefined && <Age of={metadata.creationTimestamp} />,
      };
    case 'state':
      return {
        render: ({ cells }) => {
          const text = cellText(cells[index]);
          return text === '' ? '' : <Badge tone={stateTone(text)}>{text}</Badge>;
        },
      };
    case 'number':
    case 'text':
      return {};
  }
}

const stateTone = (text: string): Tone => (text === 'True' ? 'good' : text === 'False' ? 'bad' : phaseTone(text));
