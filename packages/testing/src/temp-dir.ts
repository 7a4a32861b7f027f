import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A temporary folder; removed at the end of `await using`, or by `remove`. */
export class TempDir implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async create(label = 'test'): Promise<TempDir> {
    return new TempDir(await mkdtemp(join(tmpdir(), `multiplane-${label}-`)));
  }

  /** A path in the folder. */
  join(...parts: string[]): string {
    return join(this.path, ...parts);
  }

  /** Removes the folder; idempotent. */
  async remove(): Promise<void> {
    // A killed server may still create files in it.
    await rm(this.path, { recursive: true, force: true, maxRetries: 5 });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.remove();
  }
}
