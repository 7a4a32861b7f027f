import type { WorkspaceClient } from '../kubectl-ws/workspace-client.ts';
import { version } from '../version.ts';

/** `kubectl kcp version`: prints the version of the plugin before it asks the server, which may be down. */
export async function showVersion(
  client: Pick<WorkspaceClient, 'serverVersion'> | undefined,
  out: (line: string) => void,
): Promise<void> {
  out(`Client Version: ${version}`);
  if (client !== undefined) out(`Server Version: ${await client.serverVersion()}`);
}
