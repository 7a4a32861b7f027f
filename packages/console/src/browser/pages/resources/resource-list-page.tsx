import { useMemo, useState, type ReactElement } from 'react';
import { Link, useNavigate, useSearchParams } from 'react-router';
import { Button } from '../../components/button.tsx';
import { CommandBox } from '../../components/command-box.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Loading } from '../../components/loading.tsx';
import { Menu } from '../../components/menu.tsx';
import { Notice } from '../../components/notice.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { collectionPath } from '../../data/api-paths.ts';
import { tableCodec } from '../../data/codec.ts';
import type { TableRow } from '../../data/kube-object.ts';
import { isRefusal } from '../../data/api-error.ts';
import { useLiveList } from '../../hooks/use-live-list.ts';
import { useSchema } from '../../hooks/use-schema.ts';
import { apiVersionOf, kubectlName, type ApiResource } from '../../model/discovery.ts';
import { tableColumns, type TableColumn } from '../../model/table-columns.ts';
import { objectUrl, workspaceUrl } from '../page-definition.ts';
import { CreateObjectDialog } from './create-object-dialog.tsx';
import { ListFilters, type ListFilter } from './list-filters.tsx';
import { dataColumns } from './resource-columns.tsx';
import { useResource } from './use-resource.ts';
import './resources.css';

/** The objects of one resource, as the server's table, live. */
export function ResourceListPage(): ReactElement {
  const { address, resource, isKnown } = useResource();
  if (!isKnown) return <Loading />;
  if (resource === undefined)
    return (
      <EmptyState
        isPage
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

/** Kubernetes' tables begin with the name. */
const sortedByName = { column: '0/Name' };
const none: ReadonlySet<string> = new Set();

function ResourceList({
  cluster,
  resource,
}: {
  readonly cluster: string;
  readonly resource: ApiResource;
}): ReactElement {
  const navigate = useNavigate();
  const [isCreating, setIsCreating] = useState(false);
  const [text, setText] = useState('');
  const [filter, setFilter] = useListFilter();
  const { all, served, columns, hidden, toggle, isSynced, failure } = useTableOf(cluster, resource, filter);
  const rows = useMemo(() => matching(all, text.trim().toLowerCase()), [all, text]);
  const description = useSchema(cluster, resource)?.schema.description;
  const isFiltered = text !== '' || Object.values(filter).some((value) => value !== '');
  const showAll = (): void => {
    setFilter({ namespace: '', labels: '', fields: '' });
    setText('');
  };
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
          {isSynced && <span aria-live="polite">{countText(rows.length, all.length)}</span>}
          <ColumnMenu columns={served} hidden={hidden} onToggle={toggle} />
        </div>
      </div>
      {failure !== undefined && (!isSynced || isRefusal(failure)) && (
        <Notice tone="bad" title={isSynced ? 'The list is not kept current any more' : 'The objects cannot be listed'}>
          {failure.message}
        </Notice>
      )}
      {!isSynced && failure === undefined && <Loading />}
      {isSynced && rows.length === 0 && (
        <NoRows
          resource={resource}
          description={description}
          onShowAll={isFiltered ? showAll : undefined}
          onCreate={mayCreate ? () => setIsCreating(true) : undefined}
        />
      )}
      {rows.length > 0 && (
        <div className="table-frame table-frame-fill">
          <DataTable
            label={resource.kind}
            rows={rows}
            columns={columns}
            hidden={hidden}
            initialSort={sortedByName}
            keyOf={({ object }) => `${object.metadata.namespace ?? ''}/${object.metadata.name}`}
            onOpen={({ object: { metadata } }) =>
              void navigate(objectUrl(cluster, resource, metadata.name, metadata.namespace))
            }
          />
        </div>
      )}
      <div className="list-command">
        <CommandBox command={commandOf(cluster, resource, filter)} />
      </div>
      {isCreating && (
        <CreateObjectDialog
          cluster={cluster}
          resource={resource}
          namespace={filter.namespace === '' ? 'default' : filter.namespace}
          onClose={() => setIsCreating(false)}
        />
      )}
    </div>
  );
}

/** The filter is a part of the address: a list can be shared as it is seen. */
function useListFilter(): readonly [ListFilter, (filter: ListFilter) => void] {
  const [search, setSearch] = useSearchParams();
  const of = (name: keyof ListFilter): string => search.get(name) ?? '';
  const set = (next: ListFilter): void =>
    setSearch(
      Object.entries(next).filter(([, value]) => value !== ''),
      { replace: true },
    );
  return [{ namespace: of('namespace'), labels: of('labels'), fields: of('fields') }, set];
}

/** The table of the server, with the columns that are shown. */
function useTableOf(cluster: string, resource: ApiResource, { namespace, labels, fields }: ListFilter) {
  const [toggled, setToggled] = useState(none);
  const path = collectionPath({ cluster, ...resource, namespace });
  const options = useMemo(
    () => ({ path, labelSelector: labels, fieldSelector: fields, codec: tableCodec }),
    [path, labels, fields],
  );
  const { items, columns: definitions, isSynced, failure } = useLiveList(options);
  const served = useMemo(() => tableColumns(definitions), [definitions]);
  const showsNamespace = resource.isNamespaced && namespace === '';
  const columns = useMemo(() => dataColumns(served, showsNamespace), [served, showsNamespace]);
  const hidden = useMemo(
    () => new Set(served.filter(({ id, isWide }) => isWide !== toggled.has(id)).map(({ id }) => id)),
    [served, toggled],
  );
  const toggle = (id: string): void => setToggled((all) => all.symmetricDifference(new Set([id])));
  return { all: items, served, columns, hidden, toggle, isSynced, failure };
}

const number = new Intl.NumberFormat('en');
const countText = (shown: number, all: number): string =>
  `${shown === all ? '' : `${number.format(shown)} of `}${number.format(all)} ${all === 1 ? 'object' : 'objects'}`;

const matching = (rows: readonly TableRow[], text: string): readonly TableRow[] =>
  text === '' ? rows : rows.filter(({ object }) => object.metadata.name.includes(text));

function commandOf(cluster: string, resource: ApiResource, { namespace, labels, fields }: ListFilter): string {
  const flags = [
    resource.isNamespaced ? (namespace === '' ? '--all-namespaces' : `--namespace ${namespace}`) : '',
    labels === '' ? '' : `--selector '${labels}'`,
    fields === '' ? '' : `--field-selector '${fields}'`,
  ].filter((flag) => flag !== '');
  return `kubectl ws :${cluster}\nkubectl get ${[kubectlName(resource), ...flags].join(' ')}`;
}

function ColumnMenu({
  columns,
  hidden,
  onToggle,
}: {
  readonly columns: readonly TableColumn[];
  readonly hidden: ReadonlySet<string>;
  readonly onToggle: (id: string) => void;
}): ReactElement {
  return (
    <Menu
      trigger={<Button icon="columns">Columns</Button>}
      items={columns
        .filter(({ kind }) => kind !== 'name')
        .map(({ id, title }) => ({ id, label: title, isChecked: !hidden.has(id), onSelect: () => onToggle(id) }))}
    />
  );
}

/** Why there is nothing, and the first step. */
function NoRows({
  resource,
  description,
  onShowAll,
  onCreate,
}: {
  readonly resource: ApiResource;
  readonly description: string | undefined;
  readonly onShowAll: (() => void) | undefined;
  readonly onCreate: (() => void) | undefined;
}): ReactElement {
  return (
    <div className="table-frame">
      {onShowAll === undefined ? (
        <EmptyState
          icon="file"
          title={`No ${resource.kind} yet`}
          action={
            onCreate !== undefined && (
              <Button icon="plus" variant="primary" onClick={onCreate}>
                Create the first one
              </Button>
            )
          }
        >
          <p>{description ?? 'Objects appear here as soon as somebody creates them.'}</p>
        </EmptyState>
      ) : (
        <EmptyState icon="filter" title="Nothing matches" action={<Button onClick={onShowAll}>Show everything</Button>}>
          <p>No {resource.kind} has these labels, fields and names.</p>
        </EmptyState>
      )}
    </div>
  );
}
