/** One complaint about an expression. */
export interface Issue {
  /** Offset in the source; negative: of the whole. */
  readonly at: number;
  readonly message: string;
}

/** An expression that cannot be compiled. The message is what cel-go prints of its issues. */
export class CelIssues extends Error {
  override readonly name = 'CelIssues';
  readonly issues: readonly Issue[];
  constructor(source: string, issues: readonly Issue[]) {
    super(issuesText(source, issues));
    this.issues = issues;
  }
}

const most = 100;

/**
 * The text of all issues, by place:
 *
 *     ERROR: <input>:1:5: undefined field 'x'
 *      | self.x > 0
 *      | ....^
 */
export function issuesText(source: string, issues: readonly Issue[]): string {
  const lines = source.split('\n');
  const starts: number[] = [];
  let start = 0;
  for (const line of lines) {
    starts.push(start);
    start += line.length + 1;
  }
  const sorted = issues.toSorted((a, b) => a.at - b.at);
  const placed = sorted.slice(0, most).map((issue) => {
    let line = starts.length - 1;
    while (line > 0 && (starts[line] as number) > issue.at) line--;
    const before = (lines[line] as string).slice(0, Math.max(issue.at - (starts[line] as number), 0));
    return { line, before, column: Array.from(before).length, message: issue.message, nowhere: issue.at < 0 };
  });
  const texts = placed.map(({ line, before, column, message, nowhere }) => {
    if (nowhere) return `ERROR: <input>:-1:0: ${message}`;
    const indent = Array.from(before, (char) => (char.length + char.charCodeAt(0) > 0x80 ? '．' : '.')).join('');
    const text = (lines[line] as string).replaceAll('\t', ' ');
    const wide = (text.codePointAt(before.length) ?? 0) > 0x7f ? '＾' : '^';
    return `ERROR: <input>:${line + 1}:${column + 1}: ${message}\n | ${text}\n | ${indent}${wide}`;
  });
  if (sorted.length > most) texts.push(`${sorted.length - most} more errors were truncated`);
  return texts.join('\n');
}
