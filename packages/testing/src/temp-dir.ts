import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder of its own for one test; removed with `await using`, or by `remove`. */
export class TempDir implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async create(label = 'test'): Promise<TempDir> {
    return new TempDir(await mkdtemp(join(tmpdir(), `multiplane-${label}-`)));
  }

  /** A path inside. */
  join(...parts: string[]): string {
    return join(this.path, ...parts);
  }

  /** Removes the folder; does nothing the second time. */
  async remove(): Promise<void> {
    // A server that was just killed may still be creating files below.
    await rm(this.path, { recursive: true, force: true, maxRetries: 5 });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.remove();
  }
}
