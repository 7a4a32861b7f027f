import { useMemo, useState, type ReactElement } from 'react';
import { Link } from 'react-router';
import { Badge } from '../../components/badge.tsx';
import { CommandBox } from '../../components/command-box.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Icon } from '../../components/icon.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { useBindings } from '../../hooks/use-bindings.ts';
import { useCluster } from '../../hooks/use-cluster.ts';
import { isBindingOf, type ApiBinding } from '../../model/api-export.ts';
import { phaseTone } from '../../model/tone.ts';
import { workspaceUrl } from '../page-definition.ts';
import { useCatalogue, type CatalogueItem } from './use-catalogue.ts';
import './catalogue.css';

const pathPattern = /^[a-z0-9-]+(:[a-z0-9-]+)*$/;

/** What others offer to this workspace, and what it uses already. */
export function CataloguePage(): ReactElement {
  const cluster = useCluster();
  const [filter, setFilter] = useState('');
  const text = filter.trim().toLowerCase();
  const also = text.includes(':') && pathPattern.test(text) ? text : '';
  const { data, error } = useCatalogue(cluster, also);
  const bindings = useBindings(cluster).items;
  const shown = useMemo(() => cards(data ?? [], bindings, text), [data, bindings, text]);
  return (
    <>
      <PageHeader
        title="API catalogue"
        description={
          <>
            APIs that providers export and that you may bind in <strong>{cluster}</strong>. A bound API is served here
            like any other; its provider fulfils the objects.
          </>
        }
      />
      <div className="toolbar">
        <div className="search-input catalogue-search">
          <Icon name="search" />
          <input
            className="input"
            type="search"
            aria-label="Filter by name, group or provider"
            placeholder="Name, group, or the path of a provider"
            value={filter}
            onChange={(event) => setFilter(event.target.value)}
          />
        </div>
      </div>
      {error !== null && (
        <Notice tone="bad" title="The catalogue cannot be read">
          {error.message}
        </Notice>
      )}
      {data === undefined && error === null && <Loading label="Searching for exports" />}
      {data !== undefined && shown.length === 0 && (
        <EmptyState icon="catalogue" title={text === '' ? 'No API is offered here yet' : 'No export matches'}>
          <p>
            A provider defines a schema, exports it with an APIExport, and allows others to bind it. Exports of
            workspaces near this one appear by themselves; for another provider, type the path of its workspace.
          </p>
          <CommandBox
            label="Offer an API of your own"
            command={`kubectl ws :${cluster}\nkubectl kcp crd snapshot -f crd.yaml --prefix v1 | kubectl apply -f -\nkubectl apply -f apiexport.yaml`}
          />
        </EmptyState>
      )}
      <ul className="catalogue">
        {shown.map(({ item, binding }) => (
          <li key={`${item.provider}:${item.export.metadata.name}`}>
            <CatalogueCard cluster={cluster} item={item} binding={binding} />
          </li>
        ))}
      </ul>
    </>
  );
}

interface Card {
  readonly item: CatalogueItem;
  readonly binding: ApiBinding | undefined;
}

/** What may be bound or is bound; what one can use now comes first, what every workspace has comes last. */
function cards(items: readonly CatalogueItem[], bindings: readonly ApiBinding[], text: string): readonly Card[] {
  const rank = ({ item: { provider }, binding }: Card): number =>
    provider === 'root' ? 2 : binding === undefined ? 0 : 1;
  return items
    .map((item) => ({
      item,
      binding: bindings.find((own) => isBindingOf(own, item.provider, item.export.metadata.name)),
    }))
    .filter(({ item, binding }) => item.mayBind !== false || binding !== undefined)
    .filter(
      ({
        item: {
          provider,
          export: { metadata, spec },
        },
      }) =>
        [
          provider,
          metadata.name,
          `${provider}:${metadata.name}`,
          ...(spec?.resources ?? []).flatMap(({ group, name }) => [group, name]),
        ].some((word) => word.includes(text)),
    )
    .sort((a, b) => rank(a) - rank(b) || a.item.export.metadata.name.localeCompare(b.item.export.metadata.name));
}

function CatalogueCard({
  cluster,
  item: { provider, export: own },
  binding,
}: Card & { readonly cluster: string }): ReactElement {
  const { name } = own.metadata;
  const resources = own.spec?.resources ?? [];
  const claims = own.spec?.permissionClaims?.length ?? 0;
  const phase = binding?.status?.phase;
  return (
    <Link className="catalogue-card" to={workspaceUrl(cluster, `catalogue/${provider}/${encodeURIComponent(name)}`)}>
      <span className="catalogue-head">
        <span className="catalogue-icon">
          <Icon name="plug" size={18} />
        </span>
        {binding !== undefined && <Badge tone={phaseTone(phase ?? 'Binding')}>{phase ?? 'Binding'}</Badge>}
      </span>
      <strong>{name}</strong>
      <span className="catalogue-provider">{provider}</span>
      <span className="catalogue-resources">
        {resources.slice(0, 4).map(({ group, name: resource }) => (
          <span key={`${resource}.${group}`} className="tag">
            {resource}
          </span>
        ))}
        {resources.length > 4 && <span className="muted">and {resources.length - 4} more</span>}
      </span>
      <span className="catalogue-claims">
        {claims === 0
          ? 'Asks for nothing in your workspace'
          : claims === 1
            ? 'Asks for 1 permission'
            : `Asks for ${claims} permissions`}
      </span>
    </Link>
  );
}
