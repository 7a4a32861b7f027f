import { isStatusError } from '@multiplane/apimachinery';
import { failureText } from '../kubectl/failure-text.ts';
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

/** A workspace whose children are missing in the tree. */
export interface UnreadableWorkspace {
  readonly path: string;
  readonly reason: string;
}

export interface WorkspaceTree {
  readonly text: string;
  readonly unreadable: readonly UnreadableWorkspace[];
}

/**
 * The workspaces below one, as `kubectl ws tree` prints them, without those that are being deleted. A workspace that cannot be
 * read, such as one on a shard that is down, is marked; the rest of the tree is complete.
 */
export async function workspaceTree(
  client: WorkspaceClient,
  root: string,
  options: TreeOptions,
): Promise<WorkspaceTree> {
  const unreadable: UnreadableWorkspace[] = [];
  const reader = new TreeReader(options, { client, report: (workspace) => void unreadable.push(workspace) });
  const text = ['.', ...draw([await reader.root(root)], '')].join('\n');
  return { text, unreadable: unreadable.sort((a, b) => (a.path < b.path ? -1 : 1)) };
}

class TreeReader {
  readonly #options: TreeOptions;
  readonly #client: WorkspaceClient;
  readonly #report: (workspace: UnreadableWorkspace) => void;
  constructor(
    options: TreeOptions,
    modules: { readonly client: WorkspaceClient; readonly report: (workspace: UnreadableWorkspace) => void },
  ) {
    this.#options = options;
    this.#client = modules.client;
    this.#report = modules.report;
  }

  /** Throws if the workspace cannot be read: then there is no tree. */
  async root(path: string): Promise<Node> {
    const name = this.#options.full ? path : (path.split(':').at(-1) as string);
    const label = this.#options.wide
      ? `${name}  ws=-  lc=${(await this.#client.clusterPhase(path)) ?? 'Unknown'}`
      : name;
    return { label, children: await this.#children(path) };
  }

  async #children(path: string): Promise<Node[]> {
    const workspaces = (await this.#client.list(path)).filter(({ isDeleting }) => !isDeleting);
    return Promise.all(workspaces.map((workspace) => this.#node(`${path}:${workspace.name}`, workspace)));
  }

  async #node(path: string, workspace: WorkspaceView): Promise<Node> {
    const name = this.#options.full ? path : workspace.name;
    // A mount is a leaf: its children belong to another server.
    if (workspace.isMounted) return { label: `${name} [m]`, children: [] };
    const phase = workspace.phase === '' ? '-' : workspace.phase;
    try {
      const label = this.#options.wide
        ? `${name}  ws=${phase}  lc=${(await this.#client.clusterPhase(path)) ?? 'Unknown'}`
        : name;
      return { label, children: (await this.#client.canAccess(path)) ? await this.#children(path) : [] };
    } catch (error) {
      // Users may have access to a workspace, but not list its children.
      if (isStatusError(error) && error.code === 403) return { label: `${name} [forbidden]`, children: [] };
      this.#report({ path, reason: failureText(error) });
      return { label: `${name}${this.#options.wide ? `  ws=${phase}  lc=Unknown` : ''} [unavailable]`, children: [] };
    }
  }
}

function draw(nodes: readonly Node[], indent: string): string[] {
  return nodes.flatMap(({ label, children: inner }, index) => {
    const last = index === nodes.length - 1;
    return [`${indent}${last ? '└── ' : '├── '}${label}`, ...draw(inner, `${indent}${last ? '    ' : '│   '}`)];
  });
}
