import { poll } from './poll.ts';
import type { WorkspaceClient, WorkspaceView } from './workspace-client.ts';

export interface ReadyWorkspaceOptions {
  readonly parent: string;
  readonly name: string;
  /** The type in messages, as ` (type x)`; empty when unknown. */
  readonly ofType: string;
  readonly timeoutMs: number;
}

/**
 * Waits until a workspace is Ready. Prints each reason why it cannot become ready once, as soon as the server reports it,
 * and again in the error after the timeout: the user may be able to fix it meanwhile, for instance a location selector that
 * matches no shard.
 */
export async function waitUntilReady(
  { parent, name, ofType, timeoutMs }: ReadyWorkspaceOptions,
  { client, err }: { readonly client: Pick<WorkspaceClient, 'get'>; readonly err: (line: string) => void },
): Promise<void> {
  let last: WorkspaceView | undefined;
  let reported = '';
  const ready = await poll(timeoutMs, async () => {
    last = await client.get(parent, name);
    const { unmetCondition } = last ?? {};
    if (unmetCondition?.isError === true && unmetCondition.text !== reported) {
      reported = unmetCondition.text;
      err(`Workspace "${name}" cannot become ready yet: ${reported}`);
    }
    return last?.phase === 'Ready' ? true : undefined;
  });
  if (ready === undefined)
    throw new Error(`workspace "${name}"${ofType} created but is not ready to use: ${notReadyReason(last)}`);
}

/** The reason that the server reports. */
function notReadyReason(workspace: WorkspaceView | undefined): string {
  if (workspace === undefined) return 'it does not exist any more';
  return workspace.unmetCondition?.text ?? `its phase is "${workspace.phase}"`;
}
