import { join, resolve } from 'node:path';
import type { OptionTable } from '@multiplane/component-base';
import type { StoreCheck } from '@multiplane/storage';

/** The flags that name an embedded store. */
export const storeOptionTable = {
  'root-directory': {
    type: 'text',
    default: '.multiplane',
    description: 'Root directory of the shard; its store is the folder data in it.',
  },
} as const satisfies OptionTable;

export function storeDirectory({ rootDirectory }: { readonly rootDirectory: string }): string {
  return join(resolve(rootDirectory), 'data');
}

/** Percent of a recovery on standard error, each time it has grown by ten. */
export function recoveryProgress(write: (text: string) => void): (done: number, total: number) => void {
  let next = 10;
  return (done, total) => {
    const percent = total === 0 ? 100 : Math.floor((100 * done) / total);
    if (percent < next || total < minBytes) return;
    write(`read ${percent} % of ${megabytes(total)}\n`);
    next = percent - (percent % 10) + 10;
  };
}

/** A smaller store is read before a line about it is. */
const minBytes = 64 << 20;

export const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

/** The result of a check, a line each. */
export function describeCheck(check: StoreCheck): string[] {
  const lines = [
    `${check.keys} keys, revision ${check.revision}, ${megabytes(check.totalBytes)} on disk, ${megabytes(check.liveBytes)} of them in use`,
  ];
  if (!check.endRecorded)
    lines.push('note: written by a version that did not record the acknowledged end: a shortened log is not detected');
  // In a log that was shortened the cut record is part of the losses below.
  if (check.unfinishedWrite && check.losses.length === 0)
    lines.push('note: the last write was not finished; it had not been acknowledged');
  const { quarantinedTotal: quarantined } = check;
  if (quarantined > 0)
    lines.push(`note: ${quarantined} ${quarantined === 1 ? 'record' : 'records'} in the folder quarantine`);
  for (const { key, file, offset, bytes, revision, superseded } of check.damaged) {
    const what = key === undefined ? `${bytes} bytes, keys unknown` : `${key}, revision ${revision}, ${bytes} bytes`;
    const effect = superseded ? 'only history is lost' : 'its value is lost';
    lines.push(`damaged: ${what}, in ${file} at ${offset}: ${key === undefined ? 'see below' : effect}`);
  }
  for (const loss of check.losses) lines.push(`lost: ${loss}`);
  return lines;
}
