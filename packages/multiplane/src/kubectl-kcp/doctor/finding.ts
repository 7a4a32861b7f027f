/** What `kubectl kcp doctor` found. */
export interface Finding {
  readonly level: 'ok' | 'warning' | 'error';
  /** What was checked. */
  readonly check: string;
  readonly text: string;
  /** What to do; absent if there is nothing. */
  readonly remedy?: string;
}

export const ok = (check: string, text: string): Finding => ({ level: 'ok', check, text });
export const warning = (check: string, text: string, remedy: string): Finding => ({
  level: 'warning',
  check,
  text,
  remedy,
});
export const problem = (check: string, text: string, remedy: string): Finding => ({
  level: 'error',
  check,
  text,
  remedy,
});

/** One line per finding, and one below it with what to do. */
export function findingText({ level, check, text, remedy }: Finding): string {
  const line = `${`[${level}]`.padEnd(10)}${check}: ${text}`;
  return remedy === undefined ? line : `${line}\n${' '.repeat(10)}→ ${remedy}`;
}
