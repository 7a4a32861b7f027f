import { poll } from './poll.ts';
import type { WorkspaceClient, WorkspaceView } from './workspace-client.ts';

export interface ReadyWorkspaceOptions {
  readonly parent: string;
  readonly name: string;
  /** How messages call its type, with a blank before it; empty: nothing is known of it. */
  readonly ofType: string;
  readonly timeoutMs: number;
}

/**
 * Waits until a workspace is Ready (C13.4). What keeps it from that is told as soon as the server says so, each thing
 * once, and again in the error at the end: a workspace that fits no shard may still find one, and whoever waits for it
 * should know what to change.
 */
export async function waitUntilReady(
  { parent, name, ofType, timeoutMs }: ReadyWorkspaceOptions,
  { client, err }: { readonly client: Pick<WorkspaceClient, 'get'>; readonly err: (line: string) => void },
): Promise<void> {
  let last: WorkspaceView | undefined;
  let told = '';
  const ready = await poll(timeoutMs, async () => {
    last = await client.get(parent, name);
    const { obstacle } = last ?? {};
    if (obstacle?.isError === true && obstacle.text !== told) {
      told = obstacle.text;
      err(`Workspace "${name}" cannot become ready yet: ${told}`);
    }
    return last?.phase === 'Ready' ? true : undefined;
  });
  if (ready === undefined)
    throw new Error(`workspace "${name}"${ofType} created but is not ready to use: ${whyNotReady(last)}`);
}

/** What the server says of a workspace that is not ready. */
function whyNotReady(workspace: WorkspaceView | undefined): string {
  if (workspace === undefined) return 'it is not there any more';
  return workspace.obstacle?.text ?? `its phase is "${workspace.phase}"`;
}
