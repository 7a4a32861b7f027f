import { useQuery } from '@tanstack/react-query';
import {
  useDeferredValue,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactElement,
} from 'react';
import { useNavigate } from 'react-router';
import { Icon, type IconName } from '../components/icon.tsx';
import { collectionPath } from '../data/api-paths.ts';
import type { KubeObject } from '../data/kube-object.ts';
import { useApp } from '../hooks/app-context.ts';
import { useChildWorkspaces } from '../hooks/use-child-workspaces.ts';
import { useDiscovery } from '../hooks/use-discovery.ts';
import type { ApiResource } from '../model/discovery.ts';
import { matchRank, parsePaletteQuery, type PaletteQuery } from '../model/palette-query.ts';
import { pathsTo } from '../model/workspace-tree.ts';
import { objectUrl, resourceUrl, workspaceUrl } from '../pages/page-definition.ts';
import { pages } from '../pages/pages.ts';

interface Entry {
  readonly id: string;
  readonly group: string;
  readonly icon: IconName;
  readonly title: string;
  readonly detail: string;
  readonly to: string;
}

const maxEntries = 60;
const noResources: readonly ApiResource[] = [];

/** Goes to any workspace, page, resource or object by its name. */
export function CommandPalette({
  cluster,
  onClose,
}: {
  readonly cluster: string;
  readonly onClose: () => void;
}): ReactElement {
  const [input, setInput] = useState('');
  const [selected, setSelected] = useState(0);
  const navigate = useNavigate();
  const dialog = useRef<HTMLDialogElement>(null);
  const listId = useId();
  const { entries, isSearching } = useEntries(cluster, useDeferredValue(input));
  const current = Math.min(selected, Math.max(0, entries.length - 1));

  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  useEffect(() => {
    document.querySelector(`#${CSS.escape(`${listId}-${current}`)}`)?.scrollIntoView({ block: 'nearest' });
  }, [current, listId]);

  const open = (entry: Entry | undefined): void => {
    if (entry === undefined) return;
    onClose();
    void navigate(entry.to);
  };
  const onKey = (event: KeyboardEvent): void => {
    const last = Math.max(0, entries.length - 1);
    if (event.key === 'ArrowDown') setSelected(Math.min(last, current + 1));
    else if (event.key === 'ArrowUp') setSelected(Math.max(0, current - 1));
    else if (event.key === 'Enter') open(entries[current]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      className="palette"
      aria-label="Search"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onPointerDown={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
    >
      <div className="palette-input">
        <Icon name="search" />
        <input
          role="combobox"
          aria-label="Search workspaces, resources and objects"
          aria-expanded="true"
          aria-controls={listId}
          aria-activedescendant={entries.length === 0 ? undefined : `${listId}-${current}`}
          placeholder="Search workspaces, resources and objects"
          spellCheck={false}
          autoComplete="off"
          autoFocus
          value={input}
          onChange={(event) => {
            setInput(event.target.value);
            setSelected(0);
          }}
          onKeyDown={onKey}
        />
        <kbd>Esc</kbd>
      </div>
      <div id={listId} className="palette-list" role="listbox" aria-label="Found">
        {entries.map((entry, index) => (
          <PaletteEntry
            key={entry.id}
            id={`${listId}-${index}`}
            entry={entry}
            isSelected={index === current}
            heading={entries[index - 1]?.group === entry.group ? undefined : entry.group}
            onPoint={() => setSelected(index)}
            onOpen={() => open(entry)}
          />
        ))}
      </div>
      {entries.length === 0 && (
        <p className="palette-nothing">{isSearching ? 'Searching…' : 'Nothing has this name.'}</p>
      )}
      <footer className="palette-foot">
        <span>
          <code>root:team</code> a workspace by its path
        </span>
        <span>
          <code>configmaps web</code> objects of a resource
        </span>
      </footer>
    </dialog>
  );
}

function PaletteEntry({
  id,
  entry,
  heading,
  isSelected,
  onPoint,
  onOpen,
}: {
  readonly id: string;
  readonly entry: Entry;
  readonly heading: string | undefined;
  readonly isSelected: boolean;
  readonly onPoint: () => void;
  readonly onOpen: () => void;
}): ReactElement {
  return (
    <>
      {heading !== undefined && (
        <div className="palette-heading" role="presentation">
          {heading}
        </div>
      )}
      <div
        id={id}
        role="option"
        aria-selected={isSelected}
        className={isSelected ? 'palette-entry palette-entry-selected' : 'palette-entry'}
        onPointerMove={onPoint}
        onClick={onOpen}
      >
        <Icon name={entry.icon} />
        <span className="palette-title">{entry.title}</span>
        <span className="palette-detail">{entry.detail}</span>
      </div>
    </>
  );
}

/** What is found so far; more as the answers arrive. */
function useEntries(
  cluster: string,
  input: string,
): { readonly entries: readonly Entry[]; readonly isSearching: boolean } {
  const discovery = useDiscovery(cluster);
  const resources = discovery.data ?? noResources;
  const query = useMemo(() => parsePaletteQuery(input, resources), [input, resources]);
  const parent = query.workspace?.parent ?? cluster;
  const children = useChildWorkspaces(parent);
  const objects = useObjects(cluster, query.objects);
  return useMemo(() => {
    const entries =
      query.objects === undefined
        ? [
            ...workspaceEntries(query, cluster, parent, children.items),
            ...pageEntries(query, cluster),
            ...resourceEntries(query, cluster, resources),
          ]
        : (objects.data ?? []);
    return {
      entries: entries.slice(0, maxEntries),
      isSearching: discovery.isPending || objects.isLoading || (!children.isSynced && children.failure === undefined),
    };
  }, [query, cluster, parent, children, resources, objects.data, objects.isLoading, discovery.isPending]);
}

function useObjects(
  cluster: string,
  asked: PaletteQuery['objects'],
): { readonly data: readonly Entry[] | undefined; readonly isLoading: boolean } {
  const { api } = useApp();
  const resource = asked?.resource;
  const { data, isLoading } = useQuery({
    queryKey: ['palette-objects', cluster, resource?.group, resource?.resource],
    enabled: resource !== undefined,
    queryFn: ({ signal }) => {
      if (resource === undefined) return { items: [] };
      const path = collectionPath({ cluster, ...resource });
      // Names only, of as many as a person looks through.
      const accept = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
      return api.json<{ readonly items: readonly KubeObject[] }>(`${path}?limit=2000`, { accept, signal });
    },
  });
  const entries = useMemo(() => {
    if (asked === undefined || data === undefined) return undefined;
    return ranked(
      data.items.map(({ metadata: { name, namespace } }) => ({
        id: `object/${namespace ?? ''}/${name}`,
        group: asked.resource.kind,
        icon: 'file',
        title: name,
        detail: namespace ?? '',
        to: objectUrl(cluster, asked.resource, name, namespace),
      })),
      asked.name,
    );
  }, [asked, data, cluster]);
  return { data: entries, isLoading };
}

/** Those that match, the best first. */
function ranked(entries: readonly Entry[], text: string): readonly Entry[] {
  return entries
    .flatMap((entry) => {
      const rank = matchRank(entry.title, text);
      return rank === undefined ? [] : [{ entry, rank }];
    })
    .sort((a, b) => a.rank - b.rank)
    .map(({ entry }) => entry);
}

function workspaceEntries(
  { text, workspace }: PaletteQuery,
  cluster: string,
  parent: string,
  children: readonly KubeObject[],
): readonly Entry[] {
  const entry = (path: string, detail: string): Entry => ({
    id: `workspace/${path}`,
    group: 'Workspaces',
    icon: 'workspaces',
    title: path,
    detail,
    to: workspaceUrl(path),
  });
  const below = children.map(({ metadata }) => entry(`${parent}:${metadata.name}`, ''));
  if (workspace !== undefined)
    return [
      ...below.filter(({ title }) => title.slice(parent.length + 1).startsWith(workspace.prefix)),
      // It may be one that the user may enter and whose parent the user may not list.
      ...(workspace.prefix === '' ? [entry(parent, '')] : [entry(text, 'by its path')]),
    ].filter(({ id }, index, all) => all.findIndex((other) => other.id === id) === index);
  const ancestors = [...new Set(['root', ...pathsTo(cluster).slice(0, -1)])]
    .filter((path) => path !== cluster)
    .map((path) => entry(path, 'above'));
  return ranked([...below, ...ancestors.reverse()], text);
}

const pageEntries = ({ text }: PaletteQuery, cluster: string): readonly Entry[] =>
  ranked(
    pages.flatMap(({ id, scope, path, navigation }) =>
      navigation === undefined
        ? []
        : [
            {
              id: `page/${id}`,
              group: 'Pages',
              icon: navigation.icon,
              title: navigation.title,
              detail: scope === 'workspace' ? cluster : '',
              to: scope === 'workspace' ? workspaceUrl(cluster, path) : `/${path}`,
            },
          ],
    ),
    text,
  );

const resourceEntries = (
  { text }: PaletteQuery,
  cluster: string,
  resources: readonly ApiResource[],
): readonly Entry[] =>
  ranked(
    resources
      .filter(({ verbs }) => verbs.includes('list'))
      .map((resource) => ({
        id: `resource/${resource.resource}.${resource.group}`,
        group: 'Resources',
        icon: 'resources',
        title: resource.kind,
        detail: resource.group === '' ? resource.resource : `${resource.resource}.${resource.group}`,
        to: resourceUrl(cluster, resource),
      })),
    text,
  );
