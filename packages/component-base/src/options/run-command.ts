import { type HelpInput, renderHelp } from './help.ts';
import { OptionError } from './parse-value.ts';
import { suggestionText } from './similar-names.ts';

/** A sub-command by name. Its code is loaded only when it runs, so that help appears immediately. */
export interface SubCommand {
  readonly name: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  readonly load: () => Promise<Command | CommandGroup>;
}

export interface Command {
  readonly help: Omit<HelpInput, 'usage' | 'description'> & { readonly usage?: string; readonly description?: string };
  /** Takes the arguments after its name; returns the exit code. Throws {@link OptionError} for invalid ones. */
  readonly run: (args: readonly string[]) => Promise<number>;
}

/** A sub-command with sub-commands. */
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

export interface ProgramOutput {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
}

const helpArguments = new Set(['--help', '-h', 'help']);

/** Runs a sub-command, `--help` or `--version`; returns the exit code and never exits. */
export async function runCommand(program: Program, args: readonly string[], output: ProgramOutput): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || helpArguments.has(name)) {
    output.stdout(renderProgramHelp(program));
    return 0;
  }
  if (name === '--version' || name === 'version') {
    output.stdout(`${program.version}\n`);
    return 0;
  }
  const command = program.commands.find((candidate) => candidate.name === name);
  if (command === undefined) {
    const suggestion = suggestionText(
      name,
      program.commands.map((candidate) => candidate.name),
    );
    output.stderr(`unknown command ${JSON.stringify(name)}; see ${program.name} --help${suggestion}\n`);
    return 1;
  }
  const loaded = await command.load();
  if ('commands' in loaded)
    return runCommand({ name: `${program.name} ${name}`, version: program.version, ...loaded }, rest, output);
  if (rest[0] !== undefined && helpArguments.has(rest[0])) {
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
