/* oxlint-disable jest/no-standalone-expect, jest/expect-expect -- the class that plays the history expects */
import { expect, test } from '@jest/globals';
import { deepEqual } from '@multiplane/apimachinery';
import { encodeForStorage, labelOf, labelsOf } from '@multiplane/apiserver';
import { systemClock } from '@multiplane/component-base';
import {
  customResourcePrefix,
  isStorageError,
  openFileStorage,
  openWatchCache,
  type BackedWatchCache,
  type CacheEvent,
} from '@multiplane/storage';
import { TempDir } from '@multiplane/testing';
import fc from 'fast-check';
import {
  admit,
  key,
  operations,
  proposed,
  values,
  type Operation,
  type Value,
} from '../../test/scopes/transfer-operations.ts';
import { ScopeRuleError, type ScopedMetadata } from './scoped-update.ts';

const identity = 'identity';
const prefix = customResourcePrefix('marketplace.example', 'clusters', identity);
const objects = ['near/default/one', 'far/default/two'] as const;

type Step =
  | { readonly type: 'write'; readonly object: number; readonly operation: Operation }
  /** A watch or a list of a scope, as many revisions ago. */
  | { readonly type: 'watch' | 'list'; readonly value: Value; readonly age: number }
  /** The watch ends, and its client resumes after the last event that it has. */
  | { readonly type: 'disconnect'; readonly watcher: number }
  | { readonly type: 'restart' };

const value = fc.constantFrom(...values);
const steps: fc.Arbitrary<Step[]> = fc.tuple(operations, fc.infiniteStream(fc.nat({ max: 1 }))).chain(([list, which]) =>
  fc
    .array(
      fc.oneof(
        {
          weight: 3,
          arbitrary: fc.record({
            type: fc.constantFrom('watch' as const, 'list' as const),
            value,
            age: fc.nat({ max: 20 }),
          }),
        },
        { weight: 2, arbitrary: fc.record({ type: fc.constant('disconnect' as const), watcher: fc.nat({ max: 5 }) }) },
        { weight: 1, arbitrary: fc.record({ type: fc.constant('restart' as const) }) },
      ),
      { minLength: 4, maxLength: 12 },
    )
    .chain((readers) => {
      const writes = list.map((operation): Step => ({
        type: 'write',
        object: which.next().value as number,
        operation,
      }));
      return fc.shuffledSubarray<Step>([...writes, ...readers], { minLength: writes.length + readers.length });
    }),
);

interface Revision {
  readonly object: string;
  readonly revision: number;
  readonly metadata: ScopedMetadata;
}

interface Watcher {
  readonly value: Value;
  readonly after: number;
  readonly events: string[];
  /** The revision of the last event. */
  last: number;
  stop: () => void;
}

/** Two objects in a store of files, and the watch cache of a shard over it, whose index has the scopes. */
class World {
  readonly history: Revision[] = [];
  readonly #watchers: Watcher[] = [];
  readonly #directory: string;
  #cache!: BackedWatchCache;
  #now = Date.parse('2026-01-01T00:00:00Z');
  readonly #errors: unknown[] = [];

  constructor(directory: string) {
    this.#directory = directory;
  }

  async open(): Promise<void> {
    const storage = await openFileStorage({ directory: this.#directory });
    this.#cache = openWatchCache({}, { storage, clock: systemClock, onError: (error) => this.#errors.push(error) });
    await this.#cache.ready;
    this.#cache.indexes.add({ identity, name: key, valueOf: (entry) => labelOf(entry, key) });
  }

  async close(): Promise<void> {
    await this.#cache.close();
    expect(this.#errors).toEqual([]);
  }

  async create(object: string, first: Value): Promise<void> {
    const metadata: ScopedMetadata = { labels: { [key]: first }, creationTimestamp: '2021-01-01T00:00:00Z' };
    const revision = await this.#cache.create(`${prefix}${object}`, bytesOf(object, metadata));
    this.history.push({ object, revision, metadata });
  }

  async step(step: Step): Promise<void> {
    if (step.type === 'write') await this.#write(objects[step.object] as string, step.operation);
    else if (step.type === 'watch') this.#watch(step.value, this.#revisionBefore(step.age));
    else if (step.type === 'list') this.#list(step.value, this.#revisionBefore(step.age));
    else if (step.type === 'disconnect') this.#resume(this.#watchers[step.watcher]);
    else await this.#restart();
  }

  /** The writer of the protocol: admission, then a compare-and-set, again after a conflict. */
  async #write(object: string, given: Operation): Promise<void> {
    this.#now += given.elapsedMs;
    const own = this.history.filter((one) => one.object === object);
    for (let seen = own.length - (given.lag && own.length > 1 ? 2 : 1); ; seen = own.length - 1) {
      const { metadata: old, revision } = own[seen] as Revision;
      const by = given.by === 'holder' ? (old.labels?.[key] as Value) : given.by;
      const through = values.find((name) => name === by);
      const metadata = proposed(old, given.what);
      try {
        if (through !== undefined && old.labels?.[key] !== through) throw new ScopeRuleError('not in the scope');
        await admit(this.#now, old, metadata, by);
        if (deepEqual(metadata, old)) return;
        const written = await this.#cache.update(`${prefix}${object}`, bytesOf(object, metadata), revision);
        this.history.push({ object, revision: written, metadata });
        return;
      } catch (error) {
        if (seen !== own.length - 1 && (error instanceof ScopeRuleError || isStorageError(error, 'RevisionConflict')))
          continue;
        if (error instanceof ScopeRuleError) return;
        throw error;
      }
    }
  }

  #watch(wanted: Value, after: number): void {
    const watcher = { value: wanted, after, events: [], last: after, stop: () => undefined };
    this.#watchers.push(watcher);
    this.#subscribe(watcher);
  }

  #subscribe(watcher: Watcher): void {
    watcher.stop = this.#cache.subscribe({
      scope: prefix,
      after: watcher.last,
      where: { name: key, value: watcher.value },
      onEvent: (event) => {
        const type = typeOf(event, watcher.value);
        if (type === undefined) return;
        const object = ((event.current ?? event.previous)?.key ?? '').slice(prefix.length);
        watcher.events.push(`${type} ${object} ${event.revision}`);
        watcher.last = event.revision;
      },
      onEnd: () => undefined,
    });
  }

  #resume(watcher: Watcher | undefined): void {
    if (watcher === undefined) return;
    watcher.stop();
    this.#subscribe(watcher);
  }

  #list(wanted: Value, revision: number): void {
    const snapshot = this.#cache.snapshot(prefix, revision, { name: key, value: wanted });
    const listed = snapshot
      .entries(undefined, Infinity)
      .filter((entry) => labelsOf(entry)[key] === wanted)
      .map((entry) => entry.key.slice(prefix.length));
    const expected = objects.filter(
      (object) =>
        this.history.findLast((one) => one.object === object && one.revision <= revision)?.metadata.labels?.[key] ===
        wanted,
    );
    expect(listed.toSorted()).toEqual(expected.toSorted());
  }

  async #restart(): Promise<void> {
    await this.close();
    await this.open();
    for (const watcher of this.#watchers) this.#subscribe(watcher);
  }

  #revisionBefore(age: number): number {
    return this.history.at(-1 - Math.min(age, this.history.length - 1))?.revision ?? 0;
  }

  /** Every watcher has exactly the history of its scope after the revision at which it began. */
  async compare(): Promise<void> {
    const index = this.#cache.indexes.find(prefix, key);
    await index?.built;
    expect(index?.isBuilt).toBe(true);
    for (const wanted of values) {
      for (const { revision } of this.history) {
        this.#watch(wanted, revision);
        this.#list(wanted, revision);
      }
      const present = objects.filter((object) => this.#scopeOf(object, Infinity) === wanted);
      expect(index?.count(wanted, prefix)).toBe(present.length);
    }
    await this.#cache.waitFor(this.history.at(-1)?.revision ?? 0, 10_000);
    for (const watcher of this.#watchers) expect(watcher.events).toEqual(this.#expected(watcher));
    const counts = values.map((wanted) => index?.count(wanted, prefix) ?? 0);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(objects.length);
  }

  #scopeOf(object: string, before: number): string | undefined {
    return this.history.findLast((one) => one.object === object && one.revision < before)?.metadata.labels?.[key];
  }

  #expected({ value: wanted, after }: Watcher): string[] {
    return this.history.flatMap(({ object, revision, metadata }) => {
      if (revision <= after) return [];
      const was = this.#scopeOf(object, revision) === wanted;
      const is = metadata.labels?.[key] === wanted;
      if (!was && !is) return [];
      return [`${is ? (was ? 'MODIFIED' : 'ADDED') : 'DELETED'} ${object} ${revision}`];
    });
  }
}

function bytesOf(object: string, metadata: ScopedMetadata): Buffer {
  const [, namespace = '', name = ''] = object.split('/');
  const whole = { name, namespace, uid: `uid-of-${name}`, ...metadata };
  return encodeForStorage({ apiVersion: 'marketplace.example/v1', kind: 'Cluster', metadata: whole });
}

/** As the watch endpoint decides it. */
function typeOf({ previous, current }: CacheEvent, wanted: Value): string | undefined {
  const was = previous !== undefined && labelsOf(previous)[key] === wanted;
  const is = current !== undefined && labelsOf(current)[key] === wanted;
  if (is) return was ? 'MODIFIED' : 'ADDED';
  return was ? 'DELETED' : undefined;
}

test('watches of scopes that resume at any revision, and restarts of the store, show the true history', async () => {
  const folder = await TempDir.create('scopes');
  let runs = 0;
  try {
    await fc.assert(
      fc.asyncProperty(value, value, steps, async (first, second, list) => {
        const world = new World(`${folder.path}/${runs++}`);
        await world.open();
        try {
          await world.create(objects[0], first);
          await world.create(objects[1], second);
          for (const step of list) await world.step(step);
          await world.compare();
        } finally {
          await world.close();
        }
      }),
      { numRuns: 40 },
    );
  } finally {
    await folder.remove();
  }
}, 120_000);
