import { type HelpInput, renderHelp } from './help.ts';
import { OptionError } from './parse-value.ts';

/** A sub-command by name. What it consists of is loaded only when it is asked for, so that help appears at once. */
export interface SubCommand {
  readonly name: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  readonly load: () => Promise<Command | CommandGroup>;
}

/** What a sub-command does. */
export interface Command {
  readonly help: Omit<HelpInput, 'usage' | 'description'> & { readonly usage?: string; readonly description?: string };
  /** Gets what follows its name. Throws {@link OptionError} when that makes no sense; returns the exit code. */
  readonly run: (args: readonly string[]) => Promise<number>;
}

/** A sub-command that has sub-commands of its own. */
export interface CommandGroup {
  readonly description: string;
  readonly commands: readonly SubCommand[];
}

export interface Program {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly commands: readonly SubCommand[];
}

/** Where a program writes. */
export interface ProgramOutput {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
}

const asksForHelp = new Set(['--help', '-h', 'help']);

/** Finds the sub-command, answers `--help` and `--version`, and returns the exit code; never exits itself. */
export async function runCommand(program: Program, args: readonly string[], output: ProgramOutput): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || asksForHelp.has(name)) {
    output.stdout(renderProgramHelp(program));
    return 0;
  }
  if (name === '--version' || name === 'version') {
    output.stdout(`${program.version}\n`);
    return 0;
  }
  const command = program.commands.find((candidate) => candidate.name === name);
  if (command === undefined) {
    output.stderr(`unknown command ${JSON.stringify(name)}; see ${program.name} --help\n`);
    return 1;
  }
  const loaded = await command.load();
  if ('commands' in loaded)
    return runCommand({ name: `${program.name} ${name}`, version: program.version, ...loaded }, rest, output);
  if (rest[0] !== undefined && asksForHelp.has(rest[0])) {
    output.stdout(renderCommandHelp(`${program.name} ${name}`, command, loaded));
    return 0;
  }
  try {
    return await loaded.run(rest);
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    output.stderr(`${error.message}\nsee ${program.name} ${command.name} --help\n`);
    return 1;
  }
}

function renderProgramHelp({ name, description, commands }: Program): string {
  const column = Math.max(...commands.map((command) => command.name.length)) + 2;
  const list = commands.map((command) => `  ${command.name.padEnd(column)}${command.summary}\n`).join('');
  return `${description}\n\nUsage:\n  ${name} <command> [flags]\n\nCommands:\n${list}\nSee ${name} <command> --help.\n`;
}

function renderCommandHelp(name: string, { summary }: SubCommand, { help }: Command): string {
  const { usage = `${name} [flags]`, description = summary, sections } = help;
  return renderHelp({ usage, description, sections });
}
