import { randomUUID } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { OptionError } from '@multiplane/component-base';
import { SnapshotDecoder, type SnapshotHeader } from '@multiplane/storage';

export interface SnapshotStatus {
  readonly header: SnapshotHeader;
  readonly records: number;
  readonly bytes: number;
  /** Number of objects by resource: `apps/deployments`. */
  readonly resources: ReadonlyMap<string, number>;
  readonly logicalClusters: number;
}

/** Throws OptionError for a file that does not exist. */
export function assertSnapshotExists(path: string): void {
  if (!existsSync(path)) throw new OptionError(`the file ${path} does not exist`);
}

/** The bytes of a snapshot file. */
export const snapshotBytes = (path: string): AsyncIterable<Buffer> =>
  createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>;

/** Reads and verifies a whole snapshot file. */
export async function snapshotStatus(path: string): Promise<SnapshotStatus> {
  const decoder = new SnapshotDecoder(snapshotBytes(path));
  const header = await decoder.header();
  const resources = new Map<string, number>();
  let records = 0;
  let bytes = 0;
  for await (const { key, value } of decoder.records()) {
    // /registry/<group>/<resource>/…
    const [, , group = '', resource = ''] = key.split('/');
    const name = group === 'core' ? resource : `${group}/${resource}`;
    resources.set(name, (resources.get(name) ?? 0) + 1);
    records++;
    bytes += value.length;
  }
  return { header, records, bytes, resources, logicalClusters: resources.get('core.kcp.io/logicalclusters') ?? 0 };
}

/**
 * Writes the chunks to a file that only its owner can read, verifies what is on the disk, and gives it its name last: a file
 * with that name is a whole snapshot. Throws what the source throws, and leaves no file then.
 */
export async function writeSnapshotFile(
  path: string,
  chunks: AsyncIterable<Buffer>,
  onProgress: (bytes: number) => void,
): Promise<SnapshotStatus> {
  const partial = `${path}.${randomUUID()}.partial`;
  const file = await open(partial, 'wx', 0o600);
  try {
    let written = 0;
    for await (const chunk of chunks) {
      await file.write(chunk);
      onProgress((written += chunk.length));
    }
    await file.sync();
    const status = await snapshotStatus(partial);
    await rename(partial, path);
    return status;
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** Calls `write` with a line each time a count has grown by `step`. */
export function countProgress(unit: string, step: number, write: (text: string) => void): (count: number) => void {
  let next = step;
  return (count) => {
    if (count < next) return;
    write(`${unit === 'MiB' ? Math.floor(count / 2 ** 20) : count} ${unit}\n`);
    next = count + step;
  };
}
