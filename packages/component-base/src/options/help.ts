import { type OptionSpec, type OptionTable, environmentName } from './option-table.ts';

export interface HelpInput {
  /** `multiplane start [flags]`. */
  readonly usage: string;
  readonly description: string;
  /** Option tables by section title, in the order of the help text. */
  readonly sections: Readonly<Record<string, OptionTable>>;
}

const textColumn = 6;
const width = 100;

/** The text of `--help`, generated from the option tables. */
export function renderHelp({ usage, description, sections }: HelpInput): string {
  const parts = [`${description}\n`, `Usage:\n  ${usage}\n`];
  for (const [title, table] of Object.entries(sections)) {
    const flags = Object.entries(table);
    if (flags.length === 0) continue;
    parts.push(`${title}:\n${flags.map(([name, spec]) => renderFlag(name, spec)).join('')}`);
  }
  parts.push(
    `Flags can also be set by environment variables: --root-directory is ${environmentName('root-directory')}.\n`,
  );
  return parts.join('\n');
}

function renderFlag(name: string, spec: OptionSpec): string {
  const short = spec.short === undefined ? '' : `-${spec.short}, `;
  const value = spec.type === 'boolean' ? '' : ` ${valueName(spec)}`;
  const preset = defaultText(spec);
  const text = `${spec.description}${preset === undefined ? '' : ` (default ${preset})`}`;
  return `  ${short}--${name}${value}\n${wrap(text)}`;
}

function valueName(spec: OptionSpec): string {
  if (spec.type === 'text' && spec.choices !== undefined) return spec.choices.join('|');
  return spec.type === 'list' ? 'a,b' : spec.type === 'map' ? 'key=value' : spec.type;
}

function defaultText(spec: OptionSpec): string | undefined {
  if (spec.type === 'map') return undefined;
  if (spec.type === 'list') return spec.default?.length ? spec.default.join(',') : undefined;
  return spec.default === undefined || spec.default === '' ? undefined : String(spec.default);
}

function wrap(text: string): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    if (line !== '' && textColumn + line.length + 1 + word.length > width) {
      lines.push(line);
      line = '';
    }
    line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].map((part) => `${' '.repeat(textColumn)}${part}\n`).join('');
}
