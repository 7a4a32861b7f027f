import type { BrowserNode, SharedApis } from './tree-browser.ts';

/** Size of the terminal. */
export interface Screen {
  readonly columns: number;
  readonly rows: number;
}

interface Scene {
  /** Every workspace that is in sight, from top to bottom. */
  readonly nodes: readonly BrowserNode[];
  readonly chosen: BrowserNode;
  /** Path of the workspace that the kubeconfig points to. */
  readonly current: string;
}

const title = 'Workspaces';
const help = '↑/↓: move   →/←/space: open and close   enter: go there   q: quit';
const more = '  ...';
const fewestTreeRows = 3;

/** Draws the tree and, below it, what is known about the chosen workspace; cut to what fits. */
export function draw({ nodes, chosen, current }: Scene, { columns, rows }: Screen): string {
  const head = `${title}   ${detailsOf(chosen)}`;
  const about = aboutApis(chosen.apis);
  // Head and help take a line each with an empty one beside it; the tree has what remains.
  const room = Math.max(fewestTreeRows, rows - 4 - (about.length === 0 ? 0 : about.length + 1));
  const lines = nodes.map((node) => lineOf(node, node === chosen, node.path === current));
  const shown = windowOf(lines, nodes.indexOf(chosen), room);
  return [head, '', ...shown, ...(about.length === 0 ? [] : ['─'.repeat(columns), ...about]), '', help]
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

function lineOf({ name, depth, children, isOpen }: BrowserNode, isChosen: boolean, isCurrent: boolean): string {
  const icon = isOpen ? '▼ ' : children === undefined || children.length > 0 ? '▶ ' : '  ';
  return `${isChosen ? '→ ' : '  '}${'  '.repeat(depth)}${icon}${name}${isCurrent ? ' *' : ''}`;
}

/** As many lines as there is room for, the chosen one among them; dots say that there are more. */
function windowOf(lines: readonly string[], chosen: number, room: number): string[] {
  const first = Math.max(0, Math.min(chosen - Math.floor(room / 2), lines.length - room));
  const shown = lines.slice(first, first + room);
  if (first > 0) shown[0] = more;
  if (first + room < lines.length) shown[shown.length - 1] = more;
  return shown;
}

function aboutApis(apis: SharedApis | undefined): string[] {
  if (apis === undefined) return [];
  const list = (what: string, items: readonly string[]): string[] =>
    items.length === 0 ? [] : [`${what} (${items.length}):`, ...items.map((item) => `  • ${item}`)];
  return [
    ...list('APIExports', apis.exports),
    ...list('APIExportEndpointSlices', apis.endpointSlices),
    ...list(
      'APIBindings',
      apis.bindings.map(({ name, of, resources }) =>
        [`${name} → ${of}`, ...(resources.length === 0 ? [] : [`(${resources.join(', ')})`])].join(' '),
      ),
    ),
  ];
}
