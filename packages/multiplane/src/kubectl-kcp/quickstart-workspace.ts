import { isStatusError, type GroupVersionResource, type KubeObject } from '@multiplane/apimachinery';
import { waitUntilReachable } from '../kubectl-ws/commands.ts';
import { poll } from '../kubectl-ws/poll.ts';
import type { WorkspaceView } from '../kubectl-ws/workspace-client.ts';
import { parseWorkspaceUrl } from '../kubectl-ws/workspace-url.ts';
import type { QuickstartContext } from './quickstart-scenario.ts';

export const workspaces: GroupVersionResource = {
  group: 'tenancy.kcp.io',
  version: 'v1alpha1',
  resource: 'workspaces',
};

export interface QuickstartWorkspace {
  readonly parent: string;
  readonly name: string;
  /** A workspace type of root. */
  readonly type: 'organization' | 'universal';
  readonly prefix: string;
}

/** Creates a workspace unless it exists, and waits until it is ready and reachable. */
export async function ensureWorkspace(
  { parent, name, type, prefix }: QuickstartWorkspace,
  { modules: { client }, deadline }: QuickstartContext,
): Promise<{ readonly path: string; readonly existed: boolean }> {
  const object: KubeObject = {
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'Workspace',
    metadata: { name, labels: { 'kcp.io/quickstart': 'true', 'kcp.io/quickstart-prefix': prefix } },
    spec: { type: { name: type, path: 'root' } },
  };
  const existed = await createIfNotExists(() => client.objects.create(workspaces, parent, object));
  let last: WorkspaceView | undefined;
  const ready = await poll(deadline - performance.now(), async () => {
    last = await client.get(parent, name);
    return last?.phase === 'Ready' ? last : undefined;
  });
  if (ready === undefined) {
    const reason = last?.unmetCondition === undefined ? '' : `: ${last.unmetCondition.text}`;
    throw new Error(
      `timed out waiting for workspace ${JSON.stringify(name)} to become ready (current phase: ${last?.phase ?? ''})${reason}`,
    );
  }
  const { path } = parseWorkspaceUrl(ready.url);
  await waitUntilReachable(client, path);
  return { path, existed };
}

/** {@link ensureWorkspace} with a line of output. */
export async function ensureWorkspaceAndReport(
  workspace: QuickstartWorkspace,
  context: QuickstartContext,
): Promise<string> {
  const { path, existed } = await ensureWorkspace(workspace, context);
  const how = existed ? 'already exists' : 'created and ready';
  context.modules.out(`  Workspace ${JSON.stringify(workspace.name)} ${how} at ${path}`);
  return path;
}

/** Creates an object unless it exists, with a line of output. */
export async function ensureObjectAndReport(
  resource: GroupVersionResource,
  workspace: string,
  object: KubeObject,
  { modules: { client, out } }: QuickstartContext,
): Promise<void> {
  const existed = await createIfNotExists(() => client.objects.create(resource, workspace, object));
  out(`  ${object.kind} ${JSON.stringify(object.metadata.name)} ${existed ? 'already exists' : 'created'}`);
}

/** Returns whether the object existed. */
export async function createIfNotExists(create: () => Promise<unknown>): Promise<boolean> {
  try {
    await create();
    return false;
  } catch (error) {
    if (isStatusError(error, 'AlreadyExists')) return true;
    throw error;
  }
}
