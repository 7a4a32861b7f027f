#!/usr/bin/env node
import { homedir } from 'node:os';
import { Command } from 'commander';
import { create, createContext, current, tree, use, type CommandModules } from './kubectl-ws/commands.ts';
import { KubeconfigStore, kubeconfigFile } from './kubectl-ws/kubeconfig-store.ts';
import { WorkspaceClient } from './kubectl-ws/workspace-client.ts';
import { version } from './version.ts';

interface CommonFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly short?: boolean;
}

/** The `kubectl ws` plugin. Exits with 1 and `Error: …` on stderr when something is wrong, as kcp's does. */
async function main(argv: readonly string[]): Promise<void> {
  const program = new Command('kubectl-ws')
    .description('Shows the current workspace and moves between workspaces.')
    .usage('[options] [create|tree|current|create-context|use] | <workspace> | .. | - | . | :root:a:b')
    .version(version)
    .option('--kubeconfig <file>', 'kubeconfig to read and change (default: KUBECONFIG or ~/.kube/config)')
    .option('--context <name>', 'context to start from')
    .option('--short', 'print the path alone')
    .exitOverride();

  const run = async (action: (modules: CommandModules) => Promise<void> | void): Promise<void> => {
    const flags = program.opts<CommonFlags>();
    const store = new KubeconfigStore({ file: kubeconfigFile(flags.kubeconfig, process.env), context: flags.context });
    const client = new WorkspaceClient({ config: store.client(), userAgent: `kubectl-ws/${version}` });
    try {
      await action({
        store,
        client,
        out: (line) => void process.stdout.write(`${line}\n`),
        err: (line) => void process.stderr.write(`${line}\n`),
      });
    } finally {
      client.close();
    }
  };
  const isShort = (): boolean => program.opts<CommonFlags>().short === true;

  program
    .command('use [workspace]', { isDefault: true })
    .description(
      "go to a workspace: a name below the current one, '..', '-' (back), '.' (show), ':root:a:b' (absolute), '~' (home)",
    )
    .action((workspace: string | undefined) =>
      run(async (modules) => {
        if (workspace === undefined) {
          modules.err(
            "Note: 'kubectl ws' now matches 'cd' semantics: go to home workspace. 'kubectl ws -' to go back. 'kubectl ws .' to print current workspace.",
          );
        }
        await use(withoutHome(workspace ?? '~'), isShort(), modules);
      }),
    );
  program
    .command('create <name>')
    .description('create a workspace below the current one and wait until it is ready')
    .option('--type <type>', 'its type, <name> or <path>:<name>')
    .option('--enter', 'go there afterwards')
    .option('--ignore-existing', 'do not fail when it is already there')
    .action((name: string, options: { type?: string; enter?: boolean; ignoreExisting?: boolean }) =>
      run((modules) => create(name, options, modules)),
    );
  program
    .command('tree')
    .description('draw the workspaces below the current one')
    .option('-f, --full', 'with whole paths')
    .action((options: { full?: boolean }) => run((modules) => tree(options.full === true, modules)));
  program
    .command('current')
    .description('print the current workspace')
    .action(() => run((modules) => current(isShort(), modules)));
  program
    .command('create-context [name]')
    .description('keep the current workspace as a context of its own')
    .option('--overwrite', 'replace a context of that name')
    .action((name: string | undefined, options: { overwrite?: boolean }) =>
      run((modules) => createContext(name, options.overwrite === true, modules)),
    );

  await program.parseAsync([...argv], { from: 'user' });
}

/** A shell has already replaced `~` by the home directory. */
function withoutHome(argument: string): string {
  const home = homedir();
  return argument === home || argument.startsWith(`${home}/`) ? `~${argument.slice(home.length)}` : argument;
}

main(process.argv.slice(2)).catch((error: unknown) => {
  const code = (error as { code?: unknown }).code;
  if (code === 'commander.helpDisplayed' || code === 'commander.version' || code === 'commander.help') return;
  if (typeof code !== 'string' || !code.startsWith('commander.'))
    process.stderr.write(`Error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
