import { readFileSync } from 'node:fs';
import { InvalidArgumentError, type Command } from 'commander';
import type { ClientConfig } from '@multiplane/client';
import { proxyFromEnvironment } from '../kubectl-ws/environment-proxy.ts';
import { kubeconfigPaths } from '../kubectl-ws/kubeconfig-files.ts';
import { KubeconfigStore } from '../kubectl-ws/kubeconfig-store.ts';
import { WorkspaceClient } from '../kubectl-ws/workspace-client.ts';
import { parseWorkspaceUrl, resolveWorkspacePath } from '../kubectl-ws/workspace-url.ts';
import type { CommandModules } from '../kubectl-ws/commands.ts';
import { version } from '../version.ts';

export interface CommonFlags {
  readonly kubeconfig?: string;
  readonly workspace?: string;
  readonly context?: string;
  readonly user?: string;
  readonly token?: string;
  readonly server?: string;
  readonly certificateAuthority?: string;
  readonly insecureSkipTlsVerify?: boolean;
  readonly tlsServerName?: string;
}

/** The flags of every command, with kubectl's kubeconfig overrides. */
export function addCommonFlags(command: Command): Command {
  return command
    .option('--kubeconfig <file>', 'kubeconfig file (default: KUBECONFIG or ~/.kube/config)')
    .option('--context <name>', 'kubeconfig context to use')
    .option('--user <name>', 'kubeconfig user to use')
    .option('--token <token>', 'bearer token for authentication')
    .option('--server <url>', 'server URL, with the path of a workspace')
    .option('--certificate-authority <file>', 'CA file of the server')
    .option('--insecure-skip-tls-verify', 'do not verify the server certificate')
    .option('--tls-server-name <name>', 'server name to verify in its certificate')
    .option('-n, --namespace <name>', 'ignored; accepted for compatibility with kubectl');
}

/** `-w`: the workspace of the command, relative to the current one or, with a leading colon, absolute. */
export function addWorkspaceFlag(command: Command): Command {
  return command.option('-w, --workspace <workspace>', 'workspace to use instead of the current one');
}

/** Parses a flag with several values, comma-separated or repeated. */
export const commaSeparated = (text: string, before: readonly string[] = []): string[] => [
  ...before,
  ...text.split(','),
];

/** Parses an integer flag. */
export function integer(text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw new InvalidArgumentError(`${JSON.stringify(text)} is not an integer`);
  return Number(text);
}

/** Runs an action with the kubeconfig and a client of the server that the flags select. */
export function withServer(command: Command, action: (modules: ServerModules) => Promise<void> | void): Promise<void> {
  return withSelectedServer({ flags: command.optsWithGlobals<CommonFlags>() }, action);
}

/** The modules of a command, and the settings that its client was made with. */
export interface ServerModules extends CommandModules {
  readonly config: ClientConfig;
}

/** As {@link withServer}, without a parsed command. */
export async function withSelectedServer(
  { flags, idleTimeoutMs }: { readonly flags: CommonFlags; readonly idleTimeoutMs?: number },
  action: (modules: ServerModules) => Promise<void> | void,
): Promise<void> {
  const store = new KubeconfigStore({
    files: kubeconfigPaths(flags.kubeconfig, process.env),
    context: flags.context,
    user: flags.user,
    environment: process.env,
  });
  const selected = withOverrides(store.client(flags.token === undefined), flags);
  const config = { ...selected, proxy: selected.proxy ?? proxyFromEnvironment(selected.server, process.env) };
  const client = new WorkspaceClient({
    config,
    userAgent: `kubectl-kcp/${version}`,
    ...(idleTimeoutMs === undefined ? {} : { idleTimeoutMs }),
  });
  try {
    await action({
      store,
      client,
      config,
      url: workspaceOf(config.server, flags.workspace),
      out: (line) => void process.stdout.write(`${line}\n`),
      err: (line) => void process.stderr.write(`${line}\n`),
    });
  } finally {
    client.close();
  }
}

function withOverrides(config: ClientConfig, flags: CommonFlags): ClientConfig {
  return {
    ...config,
    ...(flags.server === undefined ? {} : { server: flags.server }),
    ...(flags.token === undefined ? {} : { token: flags.token, certificate: undefined, key: undefined }),
    ...(flags.certificateAuthority === undefined ? {} : { ca: readFileSync(flags.certificateAuthority, 'utf8') }),
    ...(flags.insecureSkipTlsVerify === true ? { insecure: true, ca: undefined } : {}),
    ...(flags.tlsServerName === undefined ? {} : { serverName: flags.tlsServerName }),
  };
}

/** Server URL of the workspace that a command uses. Throws the texts of kcp's plugin. */
function workspaceOf(server: string, workspace: string | undefined): string {
  if (workspace === undefined) return server;
  const current = parseWorkspaceUrl(server);
  const { path } = resolveWorkspacePath(current.path, workspace);
  return `${current.base}/clusters/${path}`;
}
