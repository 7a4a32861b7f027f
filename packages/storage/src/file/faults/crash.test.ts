import { describe, expect, test } from '@jest/globals';
import { freezeProcess, missingRoot, repetitions, TempDir, unlessMissing } from '@multiplane/testing';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import { openFileStorage } from '../open-file-storage.ts';
import { CrashModel, CrashRun } from '../../../test/file/crash-run.ts';
import { dataFiles } from '../../../test/file/data-files.ts';

/** Differs between test runs, is equal between a failure and its message. */
const seed = Date.now() % 1000;
const random = (i: number): number => ((i * 7919 + seed * 104_729) % 1009) / 1009;

describe('kill -9', () => {
  // Two at a time, because starting processes takes most of the time.
  test(
    'again and again during writes: all acknowledged writes are present, no partial ones',
    async () => {
      const kills = repetitions(15);
      const lane = async (first: number): Promise<number> => {
        await using tempDir = await TempDir.create('crash');
        const model = new CrashModel();
        let acknowledged = 0;
        for (let round = first; round < first + kills; round++) {
          const options = { directory: tempDir.path, historyBytes: 1 << 30 };
          const run = new CrashRun({ ...options, firstNumber: round * 1_000_000, workers: 8, valueBytes: 700 });
          await run.acknowledged(Math.floor(1 + random(round) * 60));
          const said = await run.kill();
          const store = await openFileStorage(options);
          acknowledged += await model.check(store, said, true);
          await store.close();
        }
        return acknowledged;
      };
      const acknowledged = await Promise.all([lane(0), lane(kills)]);
      expect(Math.min(...acknowledged)).toBeGreaterThan(10 * kills);
    },
    repetitions(240_000),
  );

  test(
    'during history trimming and segment compaction: content and revision are right',
    async () => {
      await using tempDir = await TempDir.create('crash-compaction');
      const model = new CrashModel();
      const bases = new Set<string>();
      for (let round = 0; round < repetitions(8); round++) {
        // The limit is so small that history is trimmed and segments are compacted all the time.
        const options = { directory: tempDir.path, historyBytes: 100_000 };
        const run = new CrashRun({ ...options, firstNumber: round * 1_000_000, workers: 8, valueBytes: 20_000 });
        await run.acknowledged(Math.floor(150 + random(round) * 300));
        const said = await run.kill();
        for (const name of dataFiles(tempDir.path).names) if (name.endsWith('.base')) bases.add(name);
        const store = await openFileStorage(options);
        await model.check(store, said, false);
        await store.close();
        expect(dataFiles(tempDir.path).names.join(' ')).toMatch(/^(\d+\.base )?(\d+\.log ?)+$/);
      }
      expect(bases.size).toBeGreaterThan(3);
    },
    repetitions(240_000),
  );
});

/** A file system on a loop device, whose image can be copied at any moment: the state after a power loss. */
const missingLoopDevices = ((): string | undefined => {
  try {
    execFileSync('losetup', ['--find'], { stdio: 'ignore' });
    return missingRoot();
  } catch {
    return 'there are no loop devices; install util-linux, and run the tests in a container that is privileged';
  }
})();

unlessMissing(missingLoopDevices, describe)('power loss', () => {
  const mounted = async (image: string, at: string, use: () => Promise<void>): Promise<void> => {
    mkdirSync(at);
    execFileSync('mount', ['-o', 'loop', image, at]);
    try {
      await use();
    } finally {
      execFileSync('umount', ['--lazy', at]);
    }
  };

  test('acknowledged writes are on the disk, not only in the page cache', async () => {
    await using tempDir = await TempDir.create('power');
    const image = tempDir.join('disk');
    execFileSync('truncate', ['--size', '32M', image]);
    execFileSync('mkfs.ext4', ['-q', image]);
    const said: string[] = [];
    const options = { workers: 8, valueBytes: 700, historyBytes: 1 << 30 };
    await mounted(image, tempDir.join('live'), async () => {
      execFileSync('sync', ['--file-system', tempDir.join('live')]);
      for (let cut = 0; cut < 5; cut++) {
        const directory = tempDir.join('live', String(cut));
        const run = new CrashRun({ ...options, directory, firstNumber: 0 });
        await run.acknowledged(100 + Math.floor(random(cut) * 200));
        await freezeProcess(run.pid);
        copyFileSync(image, tempDir.join(`cut-${cut}`));
        said.push(await run.kill());
      }
    });
    for (const [cut, lines] of said.entries()) {
      await mounted(tempDir.join(`cut-${cut}`), tempDir.join(`after-${cut}`), async () => {
        const store = await openFileStorage({ directory: tempDir.join(`after-${cut}`, String(cut)) });
        expect(await new CrashModel().check(store, lines, true)).toBeGreaterThanOrEqual(100);
        await store.close();
      });
    }
  }, 120_000);
});
