import { tableText } from '../kubectl-kcp/permission-claims.ts';
import { accessibleWorkspaceType, type CommandModules } from './commands.ts';
import { parseWorkspaceUrl, resolveWorkspacePath } from './workspace-url.ts';

interface ListOptions {
  /** Relative to the current workspace; undefined: the current one. */
  readonly workspace: string | undefined;
  /** Print only names. */
  readonly short: boolean;
}

const header = ['NAME', 'TYPE', 'PHASE', 'REASON'];

/** `kubectl ws list [<workspace>] [--short]`: the children of a workspace, and what holds up those that are not ready. */
export async function listWorkspaces(
  { workspace, short }: ListOptions,
  { client, url, out, err }: CommandModules,
): Promise<void> {
  const { path: current } = parseWorkspaceUrl(url);
  const path = workspace === undefined ? current : await pathOf(current, workspace, client);
  const children = await client.list(path).catch(async (error: unknown) => {
    // Says instead that the workspace does not exist, or is not accessible.
    await accessibleWorkspaceType(path, client);
    throw error;
  });
  if (children.length === 0) return err(`Workspace '${path}' has no child workspaces.`);
  if (short) return out(children.map(({ name }) => name).join('\n'));
  const rows = children.map(({ name, type = '', phase, isDeleting, isMounted, unmetCondition }) => [
    name,
    isMounted ? `${type} [mount]`.trim() : type,
    isDeleting ? 'Terminating' : phase,
    phase === 'Ready' && !isDeleting ? '' : (unmetCondition?.text ?? ''),
  ]);
  out(tableText([header, ...rows]));
}

async function pathOf(current: string, workspace: string, client: CommandModules['client']): Promise<string> {
  if (workspace === '~' || workspace.startsWith('~:')) return `${await client.home()}${workspace.slice(1)}`;
  return resolveWorkspacePath(current, workspace).path;
}
