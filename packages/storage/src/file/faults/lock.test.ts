import { expect, test } from '@jest/globals';
import { freezeProcess, TempDir } from '@multiplane/testing';
import { writeFileSync } from 'node:fs';
import { openFileStorage } from '../open-file-storage.ts';
import { CrashRun } from './crash-run.ts';

const options = { firstNumber: 0, workers: 1, valueBytes: 10, historyBytes: 1 << 20 };

test('R14: a second process is refused, told why and what to do, and harms nothing', async () => {
  await using folder = await TempDir.create('lock');
  const run = new CrashRun({ ...options, directory: folder.path });
  await run.acknowledged(1);
  const refused = openFileStorage({ directory: folder.path });
  await expect(refused).rejects.toMatchObject({ code: 'Unusable' });
  await expect(refused).rejects.toThrow(`${folder.path} is in use by another process: stop that process`);
  await run.acknowledged(50);
  await run.kill();
});

test('R14: a process that is stopped keeps the folder, one that is dead does not', async () => {
  await using folder = await TempDir.create('lock');
  const run = new CrashRun({ ...options, directory: folder.path });
  await run.acknowledged(1);
  await freezeProcess(run.pid);
  await expect(openFileStorage({ directory: folder.path })).rejects.toMatchObject({ code: 'Unusable' });
  await run.kill();
  const store = await openFileStorage({ directory: folder.path });
  expect(await store.currentRevision()).toBeGreaterThan(1);
  await store.close();
});

test('R14: the same process is refused too, until it has closed the store', async () => {
  await using folder = await TempDir.create('lock');
  const first = await openFileStorage({ directory: folder.path });
  await expect(openFileStorage({ directory: folder.path })).rejects.toMatchObject({ code: 'Unusable' });
  await first.create('/registry/a', Buffer.from('1'));
  await first.close();
  const second = await openFileStorage({ directory: folder.path });
  expect((await second.get('/registry/a'))?.value.toString()).toBe('1');
  await second.close();
});

test('a folder that cannot be made is refused with its name', async () => {
  await using folder = await TempDir.create('lock');
  writeFileSync(folder.join('file'), '');
  const refused = openFileStorage({ directory: folder.join('file', 'store') });
  await expect(refused).rejects.toMatchObject({ code: 'Unusable' });
  await expect(refused).rejects.toThrow(folder.join('file', 'store'));
});
