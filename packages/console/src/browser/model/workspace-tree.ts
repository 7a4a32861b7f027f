import { ApiError } from '../data/api-error.ts';
import type { LiveSnapshot } from '../data/live-list.ts';
import type { Workspace } from './workspace.ts';

/** A line of the tree of workspaces. */
export type TreeRow =
  | {
      readonly kind: 'workspace';
      readonly path: string;
      readonly name: string;
      readonly depth: number;
      /** Undefined for the top of the tree. */
      readonly workspace: Workspace | undefined;
      readonly isExpanded: boolean;
      /** False once it is known that nothing is below it. */
      readonly mayExpand: boolean;
      readonly position: number;
      readonly siblings: number;
    }
  | { readonly kind: 'message'; readonly path: string; readonly depth: number; readonly text: string };

export interface WorkspaceTree {
  /** The workspace that is shown. */
  readonly current: string;
  readonly expanded: ReadonlySet<string>;
  /** Those that are loaded, by the path of their parent. */
  readonly children: ReadonlyMap<string, LiveSnapshot<Workspace>>;
  /** Shows what has this in its name, and what is above it; empty for everything. */
  readonly filter: string;
}

/** The lines of a tree from top to bottom: that of the workspace that is shown, and `root`. */
export function treeRows(tree: WorkspaceTree): readonly TreeRow[] {
  const filter = tree.filter.trim().toLowerCase();
  const tops = [...new Set([topOf(tree.current), root])];
  return tops.flatMap((path, index) => [
    row(tree, { path, name: path, depth: 0, position: index + 1, siblings: tops.length }, undefined),
    ...rowsBelow(tree, path, 1, filter),
  ]);
}

function row(
  { expanded, children }: WorkspaceTree,
  place: {
    readonly path: string;
    readonly name: string;
    readonly depth: number;
    readonly position: number;
    readonly siblings: number;
  },
  workspace: Workspace | undefined,
): TreeRow {
  const below = children.get(place.path);
  return {
    kind: 'workspace',
    ...place,
    workspace,
    isExpanded: expanded.has(place.path),
    mayExpand: below === undefined || !below.isSynced || below.items.length > 0,
  };
}

function rowsBelow(tree: WorkspaceTree, parent: string, depth: number, filter: string): readonly TreeRow[] {
  if (!tree.expanded.has(parent)) return [];
  const below = tree.children.get(parent);
  if (below === undefined || !below.isSynced) {
    const message = { kind: 'message', path: parent, depth, text: messageOf(below?.failure) } as const;
    return [...rowsTowards(tree, parent, depth, filter), message];
  }
  const sorted = sortedByName(below.items);
  return sorted.flatMap((workspace, index) => {
    const { name } = workspace.metadata;
    const path = `${parent}:${name}`;
    const inside = rowsBelow(tree, path, depth + 1, filter);
    const matches =
      filter === '' || name.toLowerCase().includes(filter) || inside.some(({ kind }) => kind === 'workspace');
    if (!matches) return [];
    return [row(tree, { path, name, depth, position: index + 1, siblings: sorted.length }, workspace), ...inside];
  });
}

/** The way to the workspace that is shown, through one whose workspaces the user may not list. */
function rowsTowards(tree: WorkspaceTree, parent: string, depth: number, filter: string): readonly TreeRow[] {
  const path = pathsTo(tree.current).find((step) => parentOf(step) === parent);
  if (path === undefined) return [];
  const name = path.slice(parent.length + 1);
  return [
    row(tree, { path, name, depth, position: 1, siblings: 1 }, undefined),
    ...rowsBelow(tree, path, depth + 1, filter),
  ];
}

const messageOf = (failure: Error | undefined): string =>
  failure === undefined
    ? 'Loading…'
    : failure instanceof ApiError && failure.code === 403
      ? 'You may not list what is here'
      : failure.message;

/** As the server lists them; of a workspace with very many below it they are sorted once. */
const sortedLists = new WeakMap<readonly Workspace[], readonly Workspace[]>();

function sortedByName(items: readonly Workspace[]): readonly Workspace[] {
  const known = sortedLists.get(items);
  if (known !== undefined) return known;
  const sorted = items.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  sortedLists.set(items, sorted);
  return sorted;
}

const root = 'root';
/** Above a home workspace there is none. */
const homes = 'user';

/** The paths of a workspace and of everything above it, the top first. */
export function pathsTo(path: string): readonly string[] {
  const parts = path.split(':');
  return parts.map((_, index) => parts.slice(0, index + 1).join(':')).filter((step) => step !== homes);
}

const topOf = (path: string): string => pathsTo(path)[0] ?? path;

export const parentOf = (path: string): string | undefined => pathsTo(path).at(-2);
