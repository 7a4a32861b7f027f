import { runCommand, type Program } from '@multiplane/component-base';
import { version } from '../version.ts';

const stdout = (text: string): void => void process.stdout.write(text);
const stderr = (text: string): void => void process.stderr.write(text);

/** The command. Only the selected sub-command is loaded. */
const program: Program = {
  name: 'multiplane',
  description: 'A multi-tenant control plane: each workspace is a Kubernetes-style API endpoint of its own.',
  version: `multiplane ${version}`,
  commands: [
    {
      name: 'start',
      summary: 'Start everything on this machine, on the embedded store: in one process, or with --shards in several.',
      load: async () => (await import('../commands/start.ts')).startCommand(process.env),
    },
    {
      name: 'shard',
      summary: 'Start one shard; servers that its flags do not name run in the same process.',
      load: async () => (await import('../commands/start.ts')).shardCommand(process.env),
    },
    {
      name: 'front-proxy',
      summary: 'Start the front-proxy, which forwards requests to the shard of their workspace.',
      load: async () => (await import('../commands/front-proxy.ts')).frontProxyCommand(process.env),
    },
    {
      name: 'cache-server',
      summary: 'Start a cache server, which serves the replicated objects of all shards from NATS.',
      load: async () => (await import('../commands/cache-server.ts')).cacheServerCommand(process.env),
    },
    {
      name: 'virtual-workspaces',
      summary: 'Start the virtual workspaces of one shard as a separate process.',
      load: async () => (await import('../commands/virtual-workspaces.ts')).virtualWorkspacesCommand(process.env),
    },
    {
      name: 'console',
      summary: 'Start the web console as a separate process.',
      load: async () => (await import('../commands/console.ts')).consoleCommand(process.env),
    },
    {
      name: 'console-link',
      summary: 'Print a one-time link that logs the user of a kubeconfig in to the web console.',
      load: async () => (await import('../commands/console-link.ts')).consoleLinkCommand(process.env),
    },
    {
      name: 'store',
      summary: 'Check, repair or defragment the embedded store of a stopped shard.',
      load: async () => (await import('../commands/store.ts')).storeCommand(process.env),
    },
    {
      name: 'snapshot',
      summary: 'Save the store of a shard to a file, inspect such a file, restore it into any backend.',
      load: async () => (await import('../commands/snapshot.ts')).snapshotCommand(process.env),
    },
    {
      name: 'pki',
      summary: 'Issue the certificates of a sharded installation.',
      load: async () => (await import('../commands/pki.ts')).pkiCommand(process.env),
    },
    {
      name: 'generate',
      summary: 'Generate TypeScript types of an API.',
      load: async () => (await import('../commands/generate.ts')).generateCommand(process.env),
    },
    {
      name: 'completion',
      summary: 'Print the completion script of a shell.',
      load: async () => (await import('../commands/completion.ts')).completionCommand(),
    },
  ],
};

// Keeps the process alive while a command only waits for unreferenced timers; it would exit with status 0 otherwise.
const keepAlive = setInterval(() => undefined, 60_000);
const [first, ...rest] = process.argv.slice(2);
const run =
  first === '__complete'
    ? async () => {
        stdout(await (await import('../commands/complete-program.ts')).completeProgram(program, rest, process.env));
        return 0;
      }
    : () => runCommand(program, process.argv.slice(2), { stdout, stderr });
run().then(
  (code) => exitWhenIdle(code),
  (error: unknown) => {
    stderr(`error: ${describe(error)}\n`);
    exitWhenIdle(1);
  },
);

/**
 * Exits once no handle is open, or after 5 s: after a failure a library may leave a handle open, as that of NATS does with
 * connections to an unresponsive server.
 */
function exitWhenIdle(code: number): void {
  clearInterval(keepAlive);
  process.exitCode = code;
  setTimeout(() => process.exit(code), 5_000).unref();
}

/** The message of an error with those of its causes. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${describe(error.cause)}`;
}
