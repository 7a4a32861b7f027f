import { describe, expect, test } from '@jest/globals';
import { eventLoopIdle } from '@multiplane/testing';
import type { CacheEntry, CacheEvent } from '@multiplane/storage';
import type { ObjectView } from '../../registry/store/object-view.ts';
import { ConvertedEvents } from './converted-events.ts';

const entry = (revision: number, bytes = 10): CacheEntry => ({
  key: `/k/${revision}`,
  value: Buffer.alloc(bytes),
  revision,
  attachment: undefined,
});
const event = (revision: number, change: Partial<CacheEvent> = {}, bytes?: number): CacheEvent => ({
  revision,
  current: entry(revision, bytes),
  previous: undefined,
  memo: new Map(),
  ...change,
});

/** A view whose webhook responds when the test calls `answer`. */
class FakeView {
  readonly calls: number[][] = [];
  readonly ready = new Set<number>();
  readonly #answers: { readonly resolve: () => void; readonly reject: (error: Error) => void }[] = [];

  isReady({ revision }: CacheEntry): boolean {
    return this.ready.has(revision);
  }
  prepare(entries: readonly CacheEntry[]): Promise<void> {
    this.calls.push(entries.map(({ revision }) => revision));
    return new Promise((resolve, reject) => this.#answers.push({ resolve, reject }));
  }
  release(): void {
    // Nothing is kept.
  }
  async answer(): Promise<void> {
    this.#answers.shift()?.resolve();
    await eventLoopIdle();
  }
  async fail(error: Error): Promise<void> {
    this.#answers.shift()?.reject(error);
    await eventLoopIdle();
  }
}

function setUp(selectsObjects = false): {
  readonly view: FakeView;
  readonly events: ConvertedEvents;
  readonly delivered: number[];
  readonly failures: unknown[];
} {
  const view = new FakeView();
  const delivered: number[] = [];
  const failures: unknown[] = [];
  const events = new ConvertedEvents(
    { maxWaitingBytes: 100, selectsObjects },
    {
      view: view as unknown as ObjectView,
      deliver: ({ revision }) => void delivered.push(revision),
      fail: (error) => void failures.push(error),
      currentRevision: () => 99,
    },
  );
  return { view, events, delivered, failures };
}

describe('events with webhook conversion', () => {
  test('are delivered in order; those that arrive during a call share the next one', async () => {
    const { view, events, delivered } = setUp();
    for (const revision of [1, 2, 3]) events.onEvent(event(revision));
    expect(view.calls).toEqual([[1]]);
    await view.answer();
    expect([delivered, view.calls]).toEqual([[1], [[1], [2, 3]]]);
    await view.answer();
    expect(delivered).toEqual([1, 2, 3]);
  });

  test('delay later events, but not earlier ones', async () => {
    const { view, events, delivered } = setUp();
    view.ready.add(1).add(3);
    events.onEvent(event(1));
    expect(delivered).toEqual([1]);
    events.onEvent(event(2));
    events.onEvent(event(3));
    expect(delivered).toEqual([1]);
    await view.answer();
    await view.answer();
    expect(delivered).toEqual([1, 2, 3]);
  });

  test('are covered by bookmarks only after delivery', async () => {
    const { view, events } = setUp();
    expect(events.revision).toBe(99);
    events.onEvent(event(5));
    events.onEvent(event(6));
    expect(events.revision).toBe(4);
    await view.answer();
    expect(events.revision).toBe(5);
    await view.answer();
    expect(events.revision).toBe(99);
  });

  test('convert the previous object only for deletions and selections', () => {
    const change = { previous: entry(1) };
    const gone = { previous: entry(1), current: undefined };
    const plain = setUp();
    plain.events.onEvent(event(2, change));
    expect(plain.view.calls).toEqual([[2]]);
    const selecting = setUp(true);
    selecting.events.onEvent(event(2, change));
    expect(selecting.view.calls).toEqual([[1, 2]]);
    const deleting = setUp();
    deleting.events.onEvent(event(2, gone));
    expect(deleting.view.calls).toEqual([[1]]);
  });

  test('end the watch if the conversion fails', async () => {
    const { view, events, delivered, failures } = setUp();
    events.onEvent(event(1));
    events.onEvent(event(2));
    const error = new Error('no');
    await view.fail(error);
    events.onEvent(event(3));
    expect([delivered, failures, view.calls]).toEqual([[], [error], [[1]]]);
  });

  test('end the watch if too many bytes wait', async () => {
    const { view, events, delivered, failures } = setUp();
    events.onEvent(event(1, {}, 500));
    events.onEvent(event(2, {}, 60));
    expect(failures).toEqual([]);
    events.onEvent(event(3, {}, 60));
    expect(failures).toEqual([new Error('the conversion webhook is too slow for this watch')]);
    await view.answer();
    expect(delivered).toEqual([]);
  });

  test('are dropped when the watch ends', async () => {
    const { view, events, delivered, failures } = setUp();
    events.onEvent(event(1));
    events.end();
    await view.answer();
    expect([delivered, failures]).toEqual([[], []]);
  });
});
