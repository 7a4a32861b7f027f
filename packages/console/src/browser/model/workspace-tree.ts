import { ApiError } from '../data/api-error.ts';
import type { LiveSnapshot } from '../data/live-list.ts';
import type { Workspace } from './workspace.ts';

/** A line of the tree of workspaces. */
export type TreeRow =
  | {
      readonly kind: 'workspace';
      /** The path above it; undefined for the top of a tree. */
      readonly parent: string | undefined;
      /** Of the top of a tree, its path. */
      readonly name: string;
      readonly depth: number;
      /** Undefined for what is known by its path only. */
      readonly workspace: Workspace | undefined;
      readonly isExpanded: boolean;
      /** False once it is known that nothing is below it. */
      readonly mayExpand: boolean;
      readonly position: number;
      readonly siblings: number;
    }
  | { readonly kind: 'message'; readonly parent: string; readonly depth: number; readonly text: string };

/** Made when a line is shown: there may be a hundred thousand lines. */
export const pathOf = ({ parent, name }: { readonly parent: string | undefined; readonly name: string }): string =>
  parent === undefined ? name : `${parent}:${name}`;

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
  const rows: TreeRow[] = [];
  for (const [index, name] of tops.entries())
    addRow(
      tree,
      { parent: undefined, name, depth: 0, position: index + 1, siblings: tops.length, workspace: undefined },
      filter,
      rows,
    );
  return rows;
}

interface Place {
  readonly parent: string | undefined;
  readonly name: string;
  readonly depth: number;
  readonly position: number;
  readonly siblings: number;
  readonly workspace: Workspace | undefined;
}

/** Adds a workspace that may be open, and what is below it. */
function addRow(tree: WorkspaceTree, place: Place, filter: string, rows: TreeRow[]): void {
  const path = pathOf(place);
  const below = tree.children.get(path);
  const mayExpand = below === undefined || !below.isSynced || below.items.length > 0;
  const isExpanded = tree.expanded.has(path);
  rows.push({ kind: 'workspace', ...place, isExpanded, mayExpand });
  if (isExpanded) addRowsBelow(tree, { path, depth: place.depth + 1, below }, filter, rows);
}

function addRowsBelow(
  tree: WorkspaceTree,
  {
    path: parent,
    depth,
    below,
  }: { readonly path: string; readonly depth: number; readonly below: LiveSnapshot<Workspace> | undefined },
  filter: string,
  rows: TreeRow[],
): void {
  if (below === undefined || !below.isSynced) {
    // The way to the workspace that is shown, through one whose workspaces the user may not list.
    const path = pathsTo(tree.current).find((step) => parentOf(step) === parent);
    if (path !== undefined)
      addRow(
        tree,
        { parent, name: path.slice(parent.length + 1), depth, position: 1, siblings: 1, workspace: undefined },
        filter,
        rows,
      );
    rows.push({ kind: 'message', parent, depth, text: messageOf(below?.failure) });
    return;
  }
  const sorted = sortedByName(below.items);
  const open = new Set(
    [...tree.expanded].filter((path) => parentOf(path) === parent).map((path) => path.slice(parent.length + 1)),
  );
  let position = 0;
  for (const workspace of sorted) {
    const { name } = workspace.metadata;
    position++;
    const matches = filter === '' || name.toLowerCase().includes(filter);
    if (open.has(name)) {
      const at = rows.length;
      addRow(tree, { parent, name, depth, position, siblings: sorted.length, workspace }, filter, rows);
      // Nothing inside matches either.
      if (!matches && !rows.slice(at + 1).some(({ kind }) => kind === 'workspace')) rows.length = at;
    } else if (matches) {
      const state = { isExpanded: false, mayExpand: true };
      rows.push({ kind: 'workspace', parent, name, depth, position, siblings: sorted.length, workspace, ...state });
    }
  }
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
