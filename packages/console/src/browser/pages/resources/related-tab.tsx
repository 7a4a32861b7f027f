import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { Link } from 'react-router';
import { Card } from '../../components/card.tsx';
import { Icon } from '../../components/icon.tsx';
import { Loading } from '../../components/loading.tsx';
import { collectionPath } from '../../data/api-paths.ts';
import type { ApiClient } from '../../data/api-client.ts';
import type { KubeObject } from '../../data/kube-object.ts';
import { useApp } from '../../hooks/app-context.ts';
import { useDiscovery } from '../../hooks/use-discovery.ts';
import type { ApiResource } from '../../model/discovery.ts';
import { objectUrl } from '../page-definition.ts';

interface Dependent {
  readonly resource: ApiResource;
  readonly object: KubeObject;
}

const pageSize = 500;
/** Of each resource; beyond them the search would become a load test of the workspace. */
const maxPages = 4;
const parallel = 6;

/** What the object belongs to, and what belongs to it. */
export function RelatedTab({
  cluster,
  object,
}: {
  readonly cluster: string;
  readonly object: KubeObject;
}): ReactElement {
  const { api } = useApp();
  const { data: resources } = useDiscovery(cluster);
  const { uid = '', ownerReferences: owners = [], namespace } = object.metadata;
  const { data: found } = useQuery({
    queryKey: ['dependents', cluster, uid],
    enabled: resources !== undefined,
    queryFn: ({ signal }) => dependentsOf({ api, cluster, uid, resources: resources ?? [], signal }),
  });
  return (
    <div className="grid-2">
      <Card title="Owners" description="When the last of them is deleted, this object is, too.">
        {owners.length === 0 ? (
          <p className="muted">Nobody owns it: it stays until somebody deletes it.</p>
        ) : (
          <ul className="related">
            {owners.map((owner) => {
              const [group, version] = owner.apiVersion.includes('/')
                ? owner.apiVersion.split('/')
                : ['', owner.apiVersion];
              const resource = resources?.find(
                (candidate) => candidate.group === group && candidate.kind === owner.kind,
              );
              const own = resource?.isNamespaced === true ? namespace : undefined;
              return (
                <li key={owner.uid}>
                  <Icon name="file" />
                  <span className="muted">{owner.kind}</span>
                  {resource === undefined ? (
                    owner.name
                  ) : (
                    <Link
                      to={objectUrl(cluster, { ...resource, version: version ?? resource.version }, owner.name, own)}
                    >
                      {owner.name}
                    </Link>
                  )}
                </li>
              );
            })}
          </ul>
        )}
      </Card>
      <Card title="Dependents" description="What is deleted with it, unless its deletion leaves them.">
        {found === undefined ? (
          <Loading label="Searching" rows={3} />
        ) : (
          <>
            {found.dependents.length === 0 && <p className="muted">Nothing in this workspace names it as its owner.</p>}
            <ul className="related">
              {found.dependents.map(({ resource, object: { metadata } }) => (
                <li key={metadata.uid ?? metadata.name}>
                  <Icon name="file" />
                  <span className="muted">{resource.kind}</span>
                  <Link to={objectUrl(cluster, resource, metadata.name, metadata.namespace)}>{metadata.name}</Link>
                </li>
              ))}
            </ul>
            {found.isCut && (
              <p className="muted">Only the first {pageSize * maxPages} objects of each resource were searched.</p>
            )}
          </>
        )}
      </Card>
    </div>
  );
}

/** Searches all resources for objects that name the owner. What the user may not list is left out. */
async function dependentsOf({
  api,
  cluster,
  uid,
  resources,
  signal,
}: {
  readonly api: ApiClient;
  readonly cluster: string;
  readonly uid: string;
  readonly resources: readonly ApiResource[];
  readonly signal: AbortSignal;
}): Promise<{ readonly dependents: readonly Dependent[]; readonly isCut: boolean }> {
  const dependents: Dependent[] = [];
  let isCut = false;
  const rest = resources.filter(({ verbs, resource }) => verbs.includes('list') && resource !== 'events');
  const search = async (resource: ApiResource): Promise<void> => {
    let token = '';
    for (let page = 0; page < maxPages; page++) {
      const query = new URLSearchParams({ limit: String(pageSize), ...(token === '' ? {} : { continue: token }) });
      const { items, metadata } = await api.json<{
        readonly items: readonly KubeObject[];
        readonly metadata: { readonly continue?: string };
      }>(`${collectionPath({ cluster, ...resource })}?${query}`, {
        accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
        signal,
      });
      for (const object of items)
        if (object.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true)
          dependents.push({ resource, object });
      token = metadata.continue ?? '';
      if (token === '') return;
    }
    isCut = true;
  };
  const work = async (): Promise<void> => {
    for (let next = rest.shift(); next !== undefined; next = rest.shift()) await search(next).catch(() => undefined);
  };
  await Promise.all(Array.from({ length: parallel }, work));
  return { dependents, isCut };
}
