import type { WorkspaceClient, WorkspaceView } from './workspace-client.ts';

interface Node {
  readonly label: string;
  readonly children: readonly Node[];
}

/** The workspaces below one, as `kubectl ws tree` draws them (C13.3); those being deleted are left out. */
export async function workspaceTree(client: WorkspaceClient, root: string, full: boolean): Promise<string> {
  const name = full ? root : (root.split(':').at(-1) as string);
  return ['.', ...draw([{ label: name, children: await children(client, root, full) }], '')].join('\n');
}

async function children(client: WorkspaceClient, path: string, full: boolean): Promise<Node[]> {
  const workspaces = (await client.list(path)).filter(({ deleting }) => !deleting);
  return Promise.all(
    workspaces.map(async (workspace): Promise<Node> => ({
      label: full ? `${path}:${workspace.name}` : workspace.name,
      children: await below(client, path, workspace, full),
    })),
  );
}

async function below(client: WorkspaceClient, path: string, workspace: WorkspaceView, full: boolean): Promise<Node[]> {
  const child = `${path}:${workspace.name}`;
  return (await client.mayEnter(child)) ? children(client, child, full) : [];
}

function draw(nodes: readonly Node[], indent: string): string[] {
  return nodes.flatMap(({ label, children: inner }, index) => {
    const last = index === nodes.length - 1;
    return [`${indent}${last ? '└── ' : '├── '}${label}`, ...draw(inner, `${indent}${last ? '    ' : '│   '}`)];
  });
}
