import { useMemo, useState, type ReactElement } from 'react';
import { Link } from 'react-router';
import { CommandBox } from '../../components/command-box.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Icon } from '../../components/icon.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { useCluster } from '../../hooks/use-cluster.ts';
import { useDiscovery } from '../../hooks/use-discovery.ts';
import type { ApiResource } from '../../model/discovery.ts';
import { resourceUrl, workspaceUrl } from '../page-definition.ts';
import './resources.css';

/** What the workspace serves, by API group. */
export function ResourcesPage(): ReactElement {
  const cluster = useCluster();
  const { data, error } = useDiscovery(cluster);
  const [filter, setFilter] = useState('');
  const groups = useMemo(() => groupsOf(data ?? [], filter.trim().toLowerCase()), [data, filter]);
  return (
    <>
      <PageHeader
        title="Resources"
        description="Everything that this workspace serves: built-in APIs, its own definitions, and what it has bound."
      />
      <div className="toolbar">
        <div className="search-input">
          <Icon name="search" />
          <input
            className="input"
            type="search"
            aria-label="Filter by kind, name or group"
            placeholder="Filter by kind, name or group"
            value={filter}
            onChange={(event) => setFilter(event.target.value)}
          />
        </div>
      </div>
      {error !== null && (
        <Notice tone="bad" title="The resources cannot be listed">
          {error.message}
        </Notice>
      )}
      {data === undefined && error === null && <Loading />}
      {data !== undefined && groups.length === 0 && (
        <EmptyState
          icon="resources"
          title="No resource has this name"
          action={<Link to={workspaceUrl(cluster, 'catalogue')}>Look for an API to bind</Link>}
        >
          <p>APIs that are not built in come by a binding, or by a definition of the workspace itself.</p>
        </EmptyState>
      )}
      <div className="stack">
        {groups.map(([group, resources]) => (
          <section key={group} className="resource-group" aria-label={group === '' ? 'Core' : group}>
            <h2>{group === '' ? 'Core' : group}</h2>
            <ul>
              {resources.map((resource) => (
                <li key={resource.resource}>
                  <Link to={resourceUrl(cluster, resource)}>
                    <strong>{resource.kind}</strong>
                    <span>
                      {resource.resource} · {resource.version}
                      {resource.isNamespaced && ' · namespaced'}
                    </span>
                  </Link>
                </li>
              ))}
            </ul>
          </section>
        ))}
        {groups.length > 0 && <CommandBox command={`kubectl ws :${cluster}\nkubectl api-resources`} />}
      </div>
    </>
  );
}

/** Those that can be listed, by group: what tenants define first, then what is built in. */
function groupsOf(
  resources: readonly ApiResource[],
  filter: string,
): readonly (readonly [string, readonly ApiResource[]])[] {
  const groups = new Map<string, ApiResource[]>();
  for (const resource of resources) {
    if (!resource.verbs.includes('list')) continue;
    if (![resource.kind, resource.resource, resource.group].some((text) => text.toLowerCase().includes(filter)))
      continue;
    const list = groups.get(resource.group) ?? [];
    list.push(resource);
    groups.set(resource.group, list);
  }
  const rank = (group: string): number =>
    group === '' ? 1 : /(^|\.)(k8s\.io|kcp\.io|multiplane\.dev)$|^[a-z]+$/.test(group) ? 2 : 0;
  return [...groups].sort(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b));
}
