import { expect, test } from '@jest/globals';
import { freezeProcess, TempDir } from '@multiplane/testing';
import { writeFileSync } from 'node:fs';
import { openFileStorage } from '../open-file-storage.ts';
import { CrashRun } from '../../../test/file/crash-run.ts';

const options = { firstNumber: 0, workers: 1, valueBytes: 10, historyBytes: 1 << 20 };

test('a second process is refused with the reason and the remedy, and does no harm', async () => {
  await using tempDir = await TempDir.create('lock');
  const run = new CrashRun({ ...options, directory: tempDir.path });
  await run.acknowledged(1);
  const refused = openFileStorage({ directory: tempDir.path });
  await expect(refused).rejects.toMatchObject({ code: 'Unusable' });
  await expect(refused).rejects.toThrow(`${tempDir.path} is in use by another process: stop that process`);
  await run.acknowledged(50);
  await run.kill();
});

test('a stopped process keeps the directory, a dead one does not', async () => {
  await using tempDir = await TempDir.create('lock');
  const run = new CrashRun({ ...options, directory: tempDir.path });
  await run.acknowledged(1);
  await freezeProcess(run.pid);
  await expect(openFileStorage({ directory: tempDir.path })).rejects.toMatchObject({ code: 'Unusable' });
  await run.kill();
  const store = await openFileStorage({ directory: tempDir.path });
  expect(await store.currentRevision()).toBeGreaterThan(1);
  await store.close();
});

test('the same process is refused too, until it has closed the store', async () => {
  await using tempDir = await TempDir.create('lock');
  const first = await openFileStorage({ directory: tempDir.path });
  await expect(openFileStorage({ directory: tempDir.path })).rejects.toMatchObject({ code: 'Unusable' });
  await first.create('/registry/a', Buffer.from('1'));
  await first.close();
  const second = await openFileStorage({ directory: tempDir.path });
  expect((await second.get('/registry/a'))?.value.toString()).toBe('1');
  await second.close();
});

test('a directory that cannot be created is refused with its name', async () => {
  await using tempDir = await TempDir.create('lock');
  writeFileSync(tempDir.join('file'), '');
  const refused = openFileStorage({ directory: tempDir.join('file', 'store') });
  await expect(refused).rejects.toMatchObject({ code: 'Unusable' });
  await expect(refused).rejects.toThrow(tempDir.join('file', 'store'));
});
