import type { WorkspaceClient, WorkspaceView } from './workspace-client.ts';

interface Node {
  readonly label: string;
  readonly children: readonly Node[];
}

export interface TreeOptions {
  /** Labels are full paths. */
  readonly full: boolean;
  /** Labels include the phases of workspace and logical cluster. */
  readonly wide: boolean;
}

/** The workspaces below one, as `kubectl ws tree` prints them, without those that are being deleted. */
export async function workspaceTree(client: WorkspaceClient, root: string, options: TreeOptions): Promise<string> {
  const name = options.full ? root : (root.split(':').at(-1) as string);
  const label = options.wide ? `${name}  ws=-  lc=${(await client.clusterPhase(root)) ?? 'Unknown'}` : name;
  return ['.', ...draw([{ label, children: await children(client, root, options) }], '')].join('\n');
}

async function children(client: WorkspaceClient, path: string, options: TreeOptions): Promise<Node[]> {
  const workspaces = (await client.list(path)).filter(({ isDeleting }) => !isDeleting);
  return Promise.all(workspaces.map((workspace) => node(client, `${path}:${workspace.name}`, workspace, options)));
}

async function node(
  client: WorkspaceClient,
  path: string,
  workspace: WorkspaceView,
  options: TreeOptions,
): Promise<Node> {
  const name = options.full ? path : workspace.name;
  // A mount is a leaf: its children belong to another server.
  if (workspace.isMounted) return { label: `${name} [m]`, children: [] };
  const label = options.wide
    ? `${name}  ws=${workspace.phase === '' ? '-' : workspace.phase}  lc=${(await client.clusterPhase(path)) ?? 'Unknown'}`
    : name;
  return { label, children: (await client.canAccess(path)) ? await children(client, path, options) : [] };
}

function draw(nodes: readonly Node[], indent: string): string[] {
  return nodes.flatMap(({ label, children: inner }, index) => {
    const last = index === nodes.length - 1;
    return [`${indent}${last ? '└── ' : '├── '}${label}`, ...draw(inner, `${indent}${last ? '    ' : '│   '}`)];
  });
}
