import { readdirSync, readFileSync } from 'node:fs';

/** A process that was started here. */
export interface Running {
  readonly pid?: number | undefined;
}

/** Seconds that the threads of a process have worked so far (proc(5), schedstat: to the nanosecond, where `stat` counts hundredths). */
export function processorSeconds({ pid }: Running): number {
  const tasks = `/proc/${pid}/task`;
  const nanoseconds = readdirSync(tasks).map((id) =>
    Number(readFileSync(`${tasks}/${id}/schedstat`, 'utf8').split(' ')[0]),
  );
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1e9;
}
