import { parseLocks } from './resource-locks.ts';

/** Names whose lock is another's now, or nobody's: only these can have become free. Of the annotation before and after. */
export function releasedLocks(before: string | undefined, after: string | undefined): string[] {
  if (before === undefined || before === after) return [];
  const now = parseLocks(after);
  return Array.from(parseLocks(before))
    .filter(([name, { n, c }]) => now.get(name)?.n !== n || now.get(name)?.c !== c)
    .map(([name]) => name);
}
