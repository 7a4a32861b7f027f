/** A longer line is written in parts. */
const maxLineLength = 1 << 20;

export interface LinePrefixerOptions {
  readonly name: string;
  /** Columns of the longest name. */
  readonly width: number;
  readonly format: 'text' | 'json';
}

/**
 * Puts the name of a process into each line that it writes: before the line, or as the field `process` of a JSON object. Lines of
 * several processes do not mix, since only whole lines are written.
 */
export class LinePrefixer {
  readonly #prefix: string;
  readonly #field: string | undefined;
  readonly #write: (text: string) => void;
  #rest = '';

  constructor({ name, width, format }: LinePrefixerOptions, modules: { readonly write: (text: string) => void }) {
    this.#prefix = `${name.padEnd(width)} | `;
    this.#field = format === 'json' ? `{"process":${JSON.stringify(name)},` : undefined;
    this.#write = modules.write;
  }

  push(text: string): void {
    const lines = `${this.#rest}${text}`.split('\n');
    this.#rest = lines.pop() as string;
    if (this.#rest.length > maxLineLength) {
      lines.push(this.#rest);
      this.#rest = '';
    }
    if (lines.length > 0) this.#write(lines.map((line) => `${this.#prefixed(line)}\n`).join(''));
  }

  /** Writes an incomplete line. */
  end(): void {
    if (this.#rest !== '') this.push('\n');
  }

  #prefixed(line: string): string {
    const isObject = this.#field !== undefined && line.startsWith('{"');
    return isObject ? `${this.#field}${line.slice(1)}` : `${this.#prefix}${line}`;
  }
}
