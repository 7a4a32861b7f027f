import { readFileSync } from 'node:fs';

/** A process that was started here. */
export interface Running {
  readonly pid?: number | undefined;
}

/** Seconds that all threads of a process have worked so far. */
export function processorSeconds({ pid }: Running): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name of the program may have spaces: what counts comes after it.
  const fields = stat.slice(stat.lastIndexOf(') ') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
