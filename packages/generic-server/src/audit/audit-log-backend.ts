import { open, readdir, rename, stat, unlink, type FileHandle } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import type { Clock } from '@multiplane/component-base';
import { encodeAuditEvent, type AuditBackend, type AuditEvent } from './audit-event.ts';

export interface AuditLogOptions {
  /** `-` is standard output. */
  readonly path: string;
  readonly format: 'json' | 'legacy';
  /** Size in megabytes at which the file is rotated; 0: never. */
  readonly maxSizeMegabytes: number;
  /** Rotated files to keep; 0: all. */
  readonly maxBackups: number;
  /** Days to keep rotated files; 0: no limit. */
  readonly maxAgeDays: number;
}

interface AuditLogModules {
  readonly clock: Clock;
  /** Writes to standard output, for the path `-`. */
  readonly writeOut: (text: string) => void;
}

const lineBreak = Buffer.from('\n');
const megabyte = 1024 * 1024;
const day = 24 * 60 * 60 * 1000;
/** The part of a rotated file's name between stem and extension. */
const rotationTime = /^-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}$/;

/**
 * Writes events as lines of a file. Lines that arrive during a write are written together by the next one; the promise of each
 * caller resolves when its line is written.
 *
 * A file of the maximum size is renamed to `<name>-<time>.<ext>`; rotated files are removed by number and age. Other programs
 * may move or remove the files without loss of lines. After a failed write, and on start, the file is reopened; if it ends
 * within a line, a line break is written first, so that a torn line does not corrupt the next one.
 */
export class AuditLogBackend implements AuditBackend {
  readonly #options: AuditLogOptions;
  readonly #clock: Clock;
  readonly #writeOut: (text: string) => void;
  #file: FileHandle | undefined;
  #size = 0;
  /** The file ends within a line. */
  #isTorn = false;
  #rotatedAt = 0;
  #waiting: string[] = [];
  #writing: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(options: AuditLogOptions, modules: AuditLogModules) {
    this.#options = options;
    this.#clock = modules.clock;
    this.#writeOut = modules.writeOut;
  }

  process(event: AuditEvent): Promise<void> {
    this.#waiting.push(`${this.#options.format === 'json' ? encodeAuditEvent(event) : legacyLine(event)}\n`);
    // All events that arrive before the next write starts share it.
    this.#next ??= this.#writing.then(() => {
      this.#next = undefined;
      const text = this.#waiting.join('');
      this.#waiting = [];
      const written = this.#write(text);
      this.#writing = written.catch(() => undefined);
      return written;
    });
    return this.#next;
  }

  async close(): Promise<void> {
    await this.#next?.catch(() => undefined);
    await this.#writing;
    await this.#close();
  }

  async #write(text: string): Promise<void> {
    const { path, maxSizeMegabytes } = this.#options;
    if (path === '-') {
      this.#writeOut(text);
      return;
    }
    const bytes = Buffer.from(text);
    try {
      if (this.#file === undefined) await this.#open();
      if (maxSizeMegabytes > 0 && this.#size > 0 && this.#size + bytes.length > maxSizeMegabytes * megabyte)
        await this.#rotate();
      await (this.#file as FileHandle).appendFile(this.#isTorn ? Buffer.concat([lineBreak, bytes]) : bytes);
    } catch (error) {
      // The text may have been written partially.
      await this.#close();
      throw error;
    }
    this.#size += bytes.length;
    this.#isTorn = false;
  }

  async #open(): Promise<void> {
    const file = (this.#file = await open(this.#options.path, 'a+', 0o600));
    this.#size = (await file.stat()).size;
    const last = this.#size === 0 ? undefined : await file.read(Buffer.alloc(1), 0, 1, this.#size - 1);
    this.#isTorn = last !== undefined && !last.buffer.equals(lineBreak);
  }

  async #close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  async #rotate(): Promise<void> {
    const { path } = this.#options;
    await this.#close();
    const extension = extname(path);
    const stem = basename(path, extension);
    // Names must be unique: the second file would replace the first.
    this.#rotatedAt = Math.max(this.#clock.now(), this.#rotatedAt + 1);
    const time = new Date(this.#rotatedAt).toISOString().replaceAll(':', '-').slice(0, -1);
    await unlessMissing(rename(path, join(dirname(path), `${stem}-${time}${extension}`)));
    await this.#open();
    await this.#removeOld(stem, extension);
  }

  async #removeOld(stem: string, extension: string): Promise<void> {
    const { path, maxAgeDays, maxBackups } = this.#options;
    const folder = dirname(path);
    const old = (await readdir(folder))
      .filter(
        (name) =>
          name.startsWith(stem) &&
          name.endsWith(extension) &&
          rotationTime.test(name.slice(stem.length, name.length - extension.length)),
      )
      .sort()
      .reverse();
    const oldest = this.#clock.now() - maxAgeDays * day;
    for (const [index, name] of old.entries()) {
      const file = join(folder, name);
      const isTooMany = maxBackups > 0 && index >= maxBackups;
      const isTooOld = async (): Promise<boolean> => ((await unlessMissing(stat(file)))?.mtimeMs ?? 0) < oldest;
      if (isTooMany || (maxAgeDays > 0 && (await isTooOld()))) await unlessMissing(unlink(file));
    }
  }
}

async function unlessMissing<T>(done: Promise<T>): Promise<T | undefined> {
  try {
    return await done;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** An event in the `legacy` text format of kube-apiserver. */
function legacyLine(event: AuditEvent): string {
  const groups = (list: readonly string[] | undefined): string =>
    list === undefined ? '<none>' : list.map((group) => `\\"${group}\\"`).join(',');
  const as = event.impersonatedUser;
  const field = (name: string, value: string | undefined): string =>
    `${name}="${value === undefined || value === '' ? '<none>' : value.replaceAll('"', '\\"')}"`;
  return [
    `${event.stageTimestamp} AUDIT:`,
    field('id', event.auditID),
    field('stage', event.stage),
    field('ip', event.sourceIPs?.[0]),
    field('method', event.verb),
    field('user', event.user.username),
    `groups="${groups(event.user.groups)}"`,
    field('as', as?.username ?? '<self>'),
    `asgroups="${as === undefined ? '<lookup>' : groups(as.groups)}"`,
    field('user-agent', event.userAgent),
    field('namespace', event.objectRef?.['namespace']),
    field('uri', event.requestURI),
    field('response', event.responseStatus === undefined ? '<deferred>' : JSON.stringify(event.responseStatus['code'])),
  ].join(' ');
}
