import { describe, expect, test } from '@jest/globals';
import { freezeProcess, TempDir } from '@multiplane/testing';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import { openFileStorage } from '../open-file-storage.ts';
import { CrashModel, CrashRun } from './crash-run.ts';
import { dataFiles } from './folder-size.ts';

/** Different at every run of the tests, the same between a failure and its message. */
const seed = Date.now() % 1000;
const random = (i: number): number => ((i * 7919 + seed * 104_729) % 1009) / 1009;

describe('kill -9', () => {
  // In two lanes, because starting a process is most of the time.
  test('R1 R2 R13: 100 times in the middle of writes: all that was acknowledged is there, nothing by half', async () => {
    const lane = async (first: number): Promise<number> => {
      await using folder = await TempDir.create('crash');
      const model = new CrashModel();
      let acknowledged = 0;
      for (let round = first; round < first + 50; round++) {
        const options = { directory: folder.path, historyBytes: 1 << 30 };
        const run = new CrashRun({ ...options, firstNumber: round * 1_000_000, workers: 8, valueBytes: 700 });
        await run.acknowledged(Math.floor(1 + random(round) * 60));
        const said = await run.kill();
        const store = await openFileStorage(options);
        acknowledged += await model.check(store, said, true);
        await store.close();
      }
      return acknowledged;
    };
    const acknowledged = await Promise.all([lane(0), lane(50)]);
    expect(Math.min(...acknowledged)).toBeGreaterThan(500);
  }, 240_000);

  test('R3: in the middle of compaction and of merging files: content and revision are right', async () => {
    await using folder = await TempDir.create('crash-compaction');
    const model = new CrashModel();
    const bases = new Set<string>();
    for (let round = 0; round < 15; round++) {
      // So little history that it is trimmed, and files merged, all the time.
      const options = { directory: folder.path, historyBytes: 100_000 };
      const run = new CrashRun({ ...options, firstNumber: round * 1_000_000, workers: 8, valueBytes: 20_000 });
      await run.acknowledged(Math.floor(150 + random(round) * 300));
      const said = await run.kill();
      for (const name of dataFiles(folder.path).names) if (name.endsWith('.base')) bases.add(name);
      const store = await openFileStorage(options);
      await model.check(store, said, false);
      await store.close();
      expect(dataFiles(folder.path).names.join(' ')).toMatch(/^(\d+\.base )?(\d+\.log ?)+$/);
    }
    expect(bases.size).toBeGreaterThan(3);
  }, 240_000);
});

/** A file system of its own on a loop device, whose content can be copied at any moment: what a power cut would leave. */
const canMount = ((): boolean => {
  try {
    execFileSync('losetup', ['--find'], { stdio: 'ignore' });
    return process.getuid?.() === 0;
  } catch {
    return false;
  }
})();

(canMount ? describe : describe.skip)('power cut', () => {
  const mounted = async (image: string, at: string, use: () => Promise<void>): Promise<void> => {
    mkdirSync(at);
    execFileSync('mount', ['-o', 'loop', image, at]);
    try {
      await use();
    } finally {
      execFileSync('umount', ['--lazy', at]);
    }
  };

  test('R2: what was acknowledged is on the disk, not only in the memory of the system', async () => {
    await using folder = await TempDir.create('power');
    const image = folder.join('disk');
    execFileSync('truncate', ['--size', '32M', image]);
    execFileSync('mkfs.ext4', ['-q', image]);
    const said: string[] = [];
    const options = { workers: 8, valueBytes: 700, historyBytes: 1 << 30 };
    await mounted(image, folder.join('live'), async () => {
      execFileSync('sync', ['--file-system', folder.join('live')]);
      for (let cut = 0; cut < 5; cut++) {
        const directory = folder.join('live', String(cut));
        const run = new CrashRun({ ...options, directory, firstNumber: 0 });
        await run.acknowledged(100 + Math.floor(random(cut) * 200));
        await freezeProcess(run.pid);
        copyFileSync(image, folder.join(`cut-${cut}`));
        said.push(await run.kill());
      }
    });
    for (const [cut, lines] of said.entries()) {
      await mounted(folder.join(`cut-${cut}`), folder.join(`after-${cut}`), async () => {
        const store = await openFileStorage({ directory: folder.join(`after-${cut}`, String(cut)) });
        expect(await new CrashModel().check(store, lines, true)).toBeGreaterThanOrEqual(100);
        await store.close();
      });
    }
  }, 120_000);
});
