import { runCommand, type Program } from '@multiplane/component-base';
import { version } from '../version.ts';

const stdout = (text: string): void => void process.stdout.write(text);
const stderr = (text: string): void => void process.stderr.write(text);

/** The command. Only the sub-command that was asked for is loaded. */
const program: Program = {
  name: 'multiplane',
  description: 'A control plane for many tenants: each workspace is a complete Kubernetes-style API of its own.',
  version: `multiplane ${version}`,
  commands: [
    {
      name: 'start',
      summary: 'Start everything in one process, on the embedded store.',
      load: async () => (await import('../commands/start.ts')).startCommand(process.env),
    },
    {
      name: 'shard',
      summary: 'Start one shard; what its flags do not name elsewhere runs in its process.',
      load: async () => (await import('../commands/start.ts')).startCommand(process.env),
    },
    {
      name: 'front-proxy',
      summary: 'Start the front-proxy: finds the shard of a workspace and forwards.',
      load: async () => (await import('../commands/front-proxy.ts')).frontProxyCommand(process.env),
    },
    {
      name: 'cache-server',
      summary: 'Start a cache server: what all shards share, out of NATS.',
      load: async () => (await import('../commands/cache-server.ts')).cacheServerCommand(process.env),
    },
    {
      name: 'virtual-workspaces',
      summary: 'Start the virtual workspaces of one shard, apart from it.',
      load: async () => (await import('../commands/virtual-workspaces.ts')).virtualWorkspacesCommand(process.env),
    },
    {
      name: 'pki',
      summary: 'Make the certificates of a sharded set-up.',
      load: async () => (await import('../commands/pki.ts')).pkiCommand(process.env),
    },
  ],
};

// What a command waits for may hold no process, as pauses between tries do not: it would end without a word, as if well.
const running = setInterval(() => undefined, 60_000);
runCommand(program, process.argv.slice(2), { stdout, stderr }).then(
  (code) => leave(code),
  (error: unknown) => {
    stderr(`error: ${describe(error)}\n`);
    leave(1);
  },
);

/**
 * Ends when nothing is open any more. Something that failed may leave a handle open, as the library of NATS does with
 * connections to a server that is silent; nobody waits for it for ever.
 */
function leave(code: number): void {
  clearInterval(running);
  process.exitCode = code;
  setTimeout(() => process.exit(code), 5_000).unref();
}

/** The message with those of its causes: what went wrong, and why. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${describe(error.cause)}`;
}
