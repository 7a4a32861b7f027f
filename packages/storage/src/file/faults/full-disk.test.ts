import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { eventually, TempDir, missingRoot, unlessMissing } from '@multiplane/testing';
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { codeOf } from '../../../test/conformance/subject.ts';
import type { FileStorage } from '../file-storage.ts';
import { openFileStorage } from '../open-file-storage.ts';
import { CrashModel, CrashRun } from '../../../test/file/crash-run.ts';

const key = (i: number): string => `/registry/core/configmaps/${String(i).padStart(6, '0')}`;
const value = Buffer.alloc(1024, 'x');

let tempDir: TempDir;
beforeEach(async () => {
  tempDir = await TempDir.create('full');
});
afterEach(async () => {
  await tempDir.remove();
});

/** Creates keys concurrently until the store is full; returns the acknowledged keys. */
async function fillUp(store: FileStorage): Promise<number[]> {
  const acknowledged: number[] = [];
  const codes = new Set<string>();
  for (let first = 0; codes.size === 0; first += 50) {
    await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        const code = await codeOf(store.create(key(first + i), value));
        if (code === 'none') acknowledged.push(first + i);
        else codes.add(code);
      }),
    );
  }
  expect([...codes]).toEqual(['StorageFull']);
  return acknowledged;
}

async function expectContent(store: FileStorage, expected: readonly number[]): Promise<void> {
  const { items, revision } = await store.list('/registry/');
  expect(items.map((item) => item.key)).toEqual([...expected].sort((a, b) => a - b).map(key));
  expect(revision).toBe(await store.currentRevision());
  expect((await store.get(key(0)))?.value.equals(value)).toBe(true);
}

unlessMissing(missingRoot(), describe)('a full disk', () => {
  let disk: string;
  beforeEach(() => {
    disk = tempDir.join('disk');
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', disk]);
  });
  afterEach(() => {
    execFileSync('umount', ['--lazy', disk]);
  });

  test('writes are refused, reads continue, readiness fails, no acknowledged write is lost, and it recovers by itself', async () => {
    writeFileSync(`${disk}/other`, Buffer.alloc(5 << 20));
    const store = await openFileStorage({ directory: `${disk}/store` });
    const acknowledged = await fillUp(store);
    const revision = await store.currentRevision();
    await expectContent(store, acknowledged);
    expect(await codeOf(store.check())).toBe('StorageFull');
    expect(await codeOf(store.create('/registry/more', value))).toBe('StorageFull');
    expect(store.localRevision).toBe(revision);

    rmSync(`${disk}/other`);
    await eventually(() => store.check());
    const next = await store.create('/registry/more', value);
    expect(next).toBe(revision + 1);
    await store.delete('/registry/more', next);
    await store.close();

    const again = await openFileStorage({ directory: `${disk}/store` });
    await expectContent(again, acknowledged);
    expect(await again.currentRevision()).toBe(revision + 2);
    await again.close();
  });

  test('deletes are accepted and free space', async () => {
    const store = await openFileStorage({ directory: `${disk}/store` });
    const acknowledged = await fillUp(store);
    const { items } = await store.list('/registry/');
    await Promise.all(items.map(({ key, revision }) => store.delete(key, revision)));
    expect(await codeOf(store.create('/registry/more', value))).toBe('StorageFull');
    await store.compact(await store.currentRevision());
    await eventually(() => store.check());
    await store.create('/registry/more', value);
    expect(acknowledged.length).toBeGreaterThan(1000);
    await store.close();
  });

  test('watches deliver acknowledged writes only', async () => {
    const store = await openFileStorage({ directory: `${disk}/store` });
    const seen: number[] = [];
    const abort = new AbortController();
    const watching = (async () => {
      for await (const batch of store.watch('/', { after: 1, signal: abort.signal })) {
        seen.push(...batch.events.map((event) => event.revision));
      }
    })();
    const acknowledged = await fillUp(store);
    await eventually(() => expect(seen).toHaveLength(acknowledged.length));
    expect(seen).toEqual(acknowledged.map((_, i) => i + 2));
    abort.abort();
    await watching;
    await store.close();
  });

  test('a write that fails half way leaves no trace, and the next one that fits succeeds', async () => {
    writeFileSync(`${disk}/other`, Buffer.alloc(6 << 20));
    const options = { directory: `${disk}/store`, workers: 16, valueBytes: 20_000, historyBytes: 1 << 30 };
    const run = new CrashRun({ ...options, firstNumber: 0, reserveBytes: 0 });
    await run.refused(50);
    const writes = run.writes;
    rmSync(`${disk}/other`);
    await run.acknowledged(writes + 50);
    const said = await run.kill();
    const store = await openFileStorage({ directory: `${disk}/store`, historyBytes: 1 << 30 });
    expect(await new CrashModel().check(store, said, true)).toBeGreaterThanOrEqual(writes + 50);
    await store.close();
  });
});
