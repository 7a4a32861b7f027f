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

interface CommonFlags {
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

/** The flags that every command takes, kubectl's overrides among them (C13.1). */
export function addCommonFlags(command: Command): Command {
  return command
    .option('--kubeconfig <file>', 'kubeconfig to read and change (default: KUBECONFIG or ~/.kube/config)')
    .option('--context <name>', 'context to start from')
    .option('--user <name>', 'user of the kubeconfig to be')
    .option('--token <token>', 'bearer token to use')
    .option('--server <url>', 'server to use, with the path of a workspace')
    .option('--certificate-authority <file>', 'CA of the server')
    .option('--insecure-skip-tls-verify', 'do not verify the certificate of the server')
    .option('--tls-server-name <name>', 'name to look for in the certificate of the server')
    .option('-n, --namespace <name>', 'taken for the sake of scripts; workspaces have no namespace');
}

/** `-w`: where a command works, relative to the current workspace or, with a leading colon, absolute. */
export function addWorkspaceFlag(command: Command): Command {
  return command.option('-w, --workspace <workspace>', 'workspace to work in, instead of the current one');
}

/** Reads a flag that takes several values, separated by commas or in several flags. */
export const commaSeparated = (text: string, before: readonly string[] = []): string[] => [
  ...before,
  ...text.split(','),
];

/** Reads a flag that is a whole number. */
export function integer(text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw new InvalidArgumentError(`${JSON.stringify(text)} is no whole number`);
  return Number(text);
}

/** Does something with the kubeconfig and the server that the flags name, and lets go of both. */
export async function withServer(
  command: Command,
  action: (modules: CommandModules) => Promise<void> | void,
): Promise<void> {
  const flags = command.optsWithGlobals<CommonFlags>();
  const store = new KubeconfigStore({
    files: kubeconfigPaths(flags.kubeconfig, process.env),
    context: flags.context,
    user: flags.user,
    environment: process.env,
  });
  const chosen = overridden(store.client(flags.token === undefined), flags);
  const config = { ...chosen, proxy: chosen.proxy ?? proxyFromEnvironment(chosen.server, process.env) };
  const client = new WorkspaceClient({ config, userAgent: `kubectl-kcp/${version}` });
  try {
    await action({
      store,
      client,
      url: workspaceOf(config.server, flags.workspace),
      out: (line) => void process.stdout.write(`${line}\n`),
      err: (line) => void process.stderr.write(`${line}\n`),
    });
  } finally {
    client.close();
  }
}

function overridden(config: ClientConfig, flags: CommonFlags): ClientConfig {
  return {
    ...config,
    ...(flags.server === undefined ? {} : { server: flags.server }),
    ...(flags.token === undefined ? {} : { token: flags.token, certificate: undefined, key: undefined }),
    ...(flags.certificateAuthority === undefined ? {} : { ca: readFileSync(flags.certificateAuthority, 'utf8') }),
    ...(flags.insecureSkipTlsVerify === true ? { insecure: true, ca: undefined } : {}),
    ...(flags.tlsServerName === undefined ? {} : { serverName: flags.tlsServerName }),
  };
}

/** Server URL of the workspace a command works in. Throws what kcp's plugins say for one that leads nowhere. */
function workspaceOf(server: string, workspace: string | undefined): string {
  if (workspace === undefined) return server;
  const current = parseWorkspaceUrl(server);
  const { path } = resolveWorkspacePath(current.path, workspace);
  return `${current.base}/clusters/${path}`;
}
