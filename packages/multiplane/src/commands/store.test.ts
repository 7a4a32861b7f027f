import { closeSync, openSync, readdirSync, truncateSync, writeSync } from 'node:fs';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { runCommand } from '@multiplane/component-base';
import { openFileStorage } from '@multiplane/storage';
import { TempDir } from '@multiplane/testing';
import { storeCommand } from './store.ts';

let folder: TempDir;
let printed: string;
beforeEach(async () => {
  folder = await TempDir.create('store-command');
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
});
afterEach(async () => {
  jest.restoreAllMocks();
  await folder.remove();
});

async function store(...args: string[]): Promise<{ code: number; out: string }> {
  printed = '';
  const program = { name: 'multiplane store', version: '', ...storeCommand({}) };
  const write = (text: string): void => void (printed += text);
  const flags = args.includes('--help') ? args : [...args, '--root-directory', folder.path];
  const code = await runCommand(program, flags, { stdout: write, stderr: write });
  return { code, out: printed };
}

const key = (i: number): string => `/registry/core/configmaps/${i}`;
const log = (): string => folder.join('data', '00000001.log');
const recordBytes = 36 + key(0).length + 1000;

async function fill(): Promise<void> {
  const opened = await openFileStorage({ directory: folder.join('data') });
  for (let i = 0; i < 10; i++) await opened.create(key(i), Buffer.alloc(1000, String(i)));
  await opened.close();
}

function damage(from: number, bytes: number): void {
  const handle = openSync(log(), 'r+');
  writeSync(handle, Buffer.alloc(bytes, 0xee), 0, bytes, from);
  closeSync(handle);
}

test('a sound store is checked, left as it is, and defragmented', async () => {
  await fill();
  const checked = await store('check');
  expect(checked.out).toMatch(/^10 keys, revision 11, .*\nsound\n$/);
  expect(checked.code).toBe(0);
  expect((await store('repair')).out).toContain('nothing to repair');
  expect(await store('defragment')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/MiB before, .*MiB after\n$/),
  });
  expect(readdirSync(folder.join('data')).some((name) => name.endsWith('.base'))).toBe(true);
  expect((await store('check')).out).toMatch(/^10 keys, revision 11/);
});

test('a damaged record is named, and is gone after a repair', async () => {
  await fill();
  damage(64 + 4 * recordBytes + 200, 50);
  const checked = await store('check');
  expect(checked.code).toBe(2);
  expect(checked.out).toContain(`damaged: ${key(4)}, revision 6, ${recordBytes} bytes`);
  expect(checked.out).toContain('its value is lost');
  expect(readdirSync(folder.join('data'))).not.toContain('quarantine');
  expect(await store('repair')).toMatchObject({ code: 0, out: expect.stringContaining('repaired') });
  const after = await store('check');
  expect(after.code).toBe(0);
  expect(after.out).toMatch(/^9 keys, revision 11.*\nnote: 1 record in the folder quarantine\nsound\n$/);
});

test.each([0, 500])(
  'a shortened log is only repaired when the loss is accepted, %i bytes of a record left',
  async (rest) => {
    await fill();
    truncateSync(log(), 64 + 7 * recordBytes + rest);
    const checked = await store('check');
    expect(checked).toMatchObject({
      code: 2,
      out: expect.stringContaining('revisions 9 to 11, which were acknowledged'),
    });
    expect(checked.out).not.toContain('had not been acknowledged');
    expect(await store('repair')).toMatchObject({ code: 2, out: expect.stringContaining('add --accept-data-loss') });
    expect((await store('repair', '--accept-data-loss')).code).toBe(0);
    expect((await store('check')).out).toMatch(/^7 keys, revision 11.*\nsound\n$/);
  },
);

test('a store in use and a missing one are errors that say what to do', async () => {
  await expect(store('check')).rejects.toThrow(/does not exist/);
  await fill();
  const running = await openFileStorage({ directory: folder.join('data') });
  await expect(store('check')).rejects.toThrow(/in use by another process: stop that process/);
  await running.close();
});

test.each(['check', 'repair', 'defragment'])('%s has help with its exit codes', async (name) => {
  expect(await store(name, '--help')).toMatchObject({ code: 0, out: expect.stringContaining('Exit codes: 0') });
});
