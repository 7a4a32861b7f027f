import type { BrowserNode, WorkspaceApis } from './browser-node.ts';

/** Size of the terminal. */
export interface Screen {
  readonly columns: number;
  readonly rows: number;
}

interface Scene {
  /** All expanded workspaces, from top to bottom. */
  readonly nodes: readonly BrowserNode[];
  readonly selected: BrowserNode;
  /** Path of the workspace of the current kubeconfig context. */
  readonly current: string;
}

const title = 'Workspaces';
const help = '↑/↓: move   →/←/space: expand and collapse   enter: switch   q: quit';
const ellipsis = '  ...';
const minTreeRows = 3;

/** Renders the tree and, below it, the APIs of the selected workspace, truncated to the screen. */
export function renderTreeBrowser({ nodes, selected, current }: Scene, { columns, rows }: Screen): string {
  const head = `${title}   ${detailsOf(selected)}`;
  const apis = apiLines(selected.apis);
  // Header and help take a line each, with an empty line beside it; the tree gets the rest.
  const treeRows = Math.max(minTreeRows, rows - 4 - (apis.length === 0 ? 0 : apis.length + 1));
  const lines = nodes.map((node) => lineOf(node, node === selected, node.path === current));
  const shown = windowOf(lines, nodes.indexOf(selected), treeRows);
  return [head, '', ...shown, ...(apis.length === 0 ? [] : ['─'.repeat(columns), ...apis]), '', help]
    .slice(0, rows)
    .map((line) => (line.length > columns ? `${line.slice(0, columns - 1)}…` : line))
    .join('\n');
}

function detailsOf({ path, type, apis }: BrowserNode): string {
  const counts = [
    ['exports', apis?.exports.length],
    ['endpointslices', apis?.endpointSlices.length],
    ['bindings', apis?.bindings.length],
  ] as const;
  return [
    path,
    ...(type === undefined ? [] : [type]),
    ...counts.filter(([, count]) => (count ?? 0) > 0).map(([what, count]) => `${what}:${count ?? 0}`),
  ].join(' | ');
}

function lineOf({ name, depth, children, isOpen }: BrowserNode, isSelected: boolean, isCurrent: boolean): string {
  const icon = isOpen ? '▼ ' : children === undefined || children.length > 0 ? '▶ ' : '  ';
  return `${isSelected ? '→ ' : '  '}${'  '.repeat(depth)}${icon}${name}${isCurrent ? ' *' : ''}`;
}

/** The lines around the selected one that fit into `rows`; an ellipsis marks omitted lines. */
function windowOf(lines: readonly string[], selected: number, rows: number): string[] {
  const first = Math.max(0, Math.min(selected - Math.floor(rows / 2), lines.length - rows));
  const shown = lines.slice(first, first + rows);
  if (first > 0) shown[0] = ellipsis;
  if (first + rows < lines.length) shown[shown.length - 1] = ellipsis;
  return shown;
}

function apiLines(apis: WorkspaceApis | undefined): string[] {
  if (apis === undefined) return [];
  const list = (what: string, items: readonly string[]): string[] =>
    items.length === 0 ? [] : [`${what} (${items.length}):`, ...items.map((item) => `  • ${item}`)];
  return [
    ...list('APIExports', apis.exports),
    ...list('APIExportEndpointSlices', apis.endpointSlices),
    ...list(
      'APIBindings',
      apis.bindings.map(({ name, exportReference, resources }) =>
        [`${name} → ${exportReference}`, ...(resources.length === 0 ? [] : [`(${resources.join(', ')})`])].join(' '),
      ),
    ),
  ];
}
