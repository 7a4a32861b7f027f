import { expect, test } from '@jest/globals';
import { TempDir } from '@multiplane/testing';
import * as fc from 'fast-check';
import type { StoredValue } from '../interface.ts';
import { openFileStorage } from './open-file-storage.ts';

const keys = ['/a/1', '/a/2', '/a/1/x', '/b/\uFFFD', '/b/😀', '/b'];
type Step = { readonly key: string; readonly remove: boolean } | 'forget' | 'again';
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ key: fc.constantFrom(...keys), remove: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant('forget' as const) },
  { weight: 1, arbitrary: fc.constant('again' as const) },
);

type Store = Awaited<ReturnType<typeof openFileStorage>>;

/** Every state that is still readable. */
async function statesOf(store: Store, until: number): Promise<Map<number, readonly StoredValue[]>> {
  const states = new Map<number, readonly StoredValue[]>();
  for (let revision = until; revision > 0; revision--) {
    const found = await store.list('/', { revision }).catch(() => undefined);
    if (found === undefined) break;
    states.set(revision, found.items);
  }
  return states;
}

test.each([
  ['read as a whole', undefined],
  ['known from its file of keys', 0],
])(
  'a store that is opened again, %s, has the same states, now and as far back as before',
  async (_, minIndexSnapshotBytes) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        await using tempDir = await TempDir.create('full-replay');
        let store = await openFileStorage({ directory: tempDir.path, minIndexSnapshotBytes });
        // Values are large enough that trimming the history compacts the segments.
        const value = (): Buffer => Buffer.alloc(20_000, String(written++));
        let written = 0;
        for (const step of steps) {
          if (step === 'forget') await store.compact(await store.currentRevision());
          else if (step === 'again') {
            await store.close();
            store = await openFileStorage({ directory: tempDir.path, minIndexSnapshotBytes });
          } else {
            const now = await store.get(step.key);
            if (now === undefined) await store.create(step.key, value());
            else if (step.remove) await store.delete(step.key, now.revision);
            else await store.update(step.key, value(), now.revision);
          }
        }
        const revision = await store.currentRevision();
        const states = await statesOf(store, revision);
        await store.close();
        const again = await openFileStorage({ directory: tempDir.path, minIndexSnapshotBytes });
        expect(await again.currentRevision()).toBe(revision);
        expect(await statesOf(again, revision)).toEqual(states);
        await again.close();
      }),
      { numRuns: 10 },
    );
  },
  120_000,
);
