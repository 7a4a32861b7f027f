import { afterEach, describe, expect, test } from '@jest/globals';
import { eventLoopIdle } from '@multiplane/testing';
import type { KubeObject } from '@multiplane/apimachinery';
import { Pipeline, type PipelineOptions, type TestExchange, framesOf } from '../../../test/pipeline.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const mergePatch = { 'content-type': 'application/merge-patch+json' };

let pipeline: Pipeline | undefined;
async function open(options?: PipelineOptions): Promise<Pipeline> {
  pipeline = await Pipeline.open(options);
  return pipeline;
}
afterEach(async () => {
  await pipeline?.close();
});

const eventsOf = (exchange: TestExchange): string[] =>
  framesOf(exchange).map(({ type, object }) => `${type} ${object.metadata?.name ?? ''}`);
const label = (on: Pipeline, name: string, value: string): Promise<unknown> =>
  on.must(200, 'PATCH', `${maps}/${name}`, { metadata: { labels: { on: value } } }, mergePatch);

/** What of a table says which objects it shows. */
interface ShownRows {
  readonly rows: readonly { readonly object: unknown }[];
}

describe('start', () => {
  test('sends the initial list, then all changes without a gap', async () => {
    const on = await open();
    await on.must(201, 'POST', maps, { metadata: { name: 'b' } });
    await on.must(201, 'POST', maps, { metadata: { name: 'a' } });
    const { exchange } = on.start('GET', `${maps}?watch=1`);
    exchange.stall = true;
    await eventLoopIdle();
    expect(exchange.status).toBe(200);
    await on.must(201, 'POST', maps, { metadata: { name: 'c' } });
    exchange.resume();
    await eventLoopIdle();
    expect(eventsOf(exchange)).toEqual(['ADDED a', 'ADDED b', 'ADDED c']);
  });

  test('ends the initial list with a bookmark if requested', async () => {
    const on = await open();
    await on.must(201, 'POST', maps, { metadata: { name: 'a' } });
    const { exchange } = on.start(
      'GET',
      `${maps}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
    );
    await eventLoopIdle();
    const last = framesOf(exchange).at(-1);
    expect(last).toEqual({
      type: 'BOOKMARK',
      object: {
        kind: 'ConfigMap',
        apiVersion: 'v1',
        metadata: { resourceVersion: String(on.cache.revision), annotations: { 'k8s.io/initial-events-end': 'true' } },
      },
    });
  });

  test('sends the same initial events to each watch, and changed ones after a change', async () => {
    const on = await open();
    const data = { value: 'x'.repeat(1_000) };
    const names = Array.from({ length: 230 }, (_, n) => `m${String(n).padStart(3, '0')}`);
    const labels = (n: number) => ({ parity: n % 2 === 0 ? 'even' : 'odd' });
    for (const [n, name] of names.entries())
      await on.must(201, 'POST', maps, { metadata: { name, labels: labels(n) }, data });
    const initial = async (query: string, count: number): Promise<unknown[]> => {
      const { exchange } = on.start(
        'GET',
        `${maps}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan${query}`,
      );
      await eventLoopIdle();
      expect(framesOf(exchange)).toHaveLength(count);
      return framesOf(exchange).map(({ type, object }) => [type, object]);
    };
    const stored = async (selected: (n: number) => boolean): Promise<unknown[]> => {
      const objects: unknown[] = [];
      for (const [n, name] of names.entries()) {
        if (selected(n)) objects.push(['ADDED', await on.must(200, 'GET', `${maps}/${name}`)]);
      }
      return objects;
    };
    const isEven = (n: number): boolean => n % 2 === 0;
    for (const change of [() => undefined, () => label(on, 'm003', 'x'), () => label(on, 'm228', 'y')]) {
      await change();
      const [all, even] = [await stored(() => true), await stored(isEven)];
      for (let times = 0; times < 3; times++) {
        expect(await initial('', all.length)).toEqual(all);
        expect(await initial('&labelSelector=parity%3Deven', even.length)).toEqual(even);
      }
    }
  });

  test.each(['Table', 'PartialObjectMetadata'])('as %s contains the metadata that was stored', async (kind) => {
    const on = await open();
    const metadata = { name: 'a', labels: { text: 'x' }, annotations: { b: 'é"\n' } };
    await on.must(201, 'POST', maps, { metadata, data: { a: 'b' } });
    const before = on.cache.revision;
    const { exchange } = on.start(
      'GET',
      `${maps}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
      undefined,
      { accept: `application/json;as=${kind};v=v1;g=meta.k8s.io` },
    );
    await eventLoopIdle();
    await on.must(200, 'DELETE', `${maps}/a`);
    await eventLoopIdle();
    const shown = framesOf(exchange)
      .filter(({ type }) => type !== 'BOOKMARK')
      .map(({ type, object }) => [type, kind === 'Table' ? (object as unknown as ShownRows).rows[0]?.object : object]);
    const stored = (resourceVersion: number) => ({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: expect.objectContaining({
        ...metadata,
        annotations: { ...metadata.annotations, 'kcp.io/cluster': 'root' },
        resourceVersion: String(resourceVersion),
      }),
    });
    expect(shown).toEqual([
      ['ADDED', stored(before)],
      ['DELETED', stored(on.cache.revision)],
    ]);
  });

  test('from now on has its revision before its client reads the headers', async () => {
    const on = await open();
    const freshRevision = on.cache.freshRevision.bind(on.cache);
    let proceed: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => {
      on.cache.freshRevision = async () => {
        resolve();
        await new Promise<void>((arrived) => {
          proceed = arrived;
        });
        return freshRevision();
      };
    });
    const { exchange } = on.start('GET', `${maps}?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan`);
    await asked;
    await eventLoopIdle();
    expect(exchange.status).toBe(0);
    proceed();
    await eventLoopIdle();
    expect(exchange.status).toBe(200);
    on.cache.freshRevision = freshRevision;
    await on.must(201, 'POST', maps, { metadata: { name: 'a' } });
    await eventLoopIdle();
    expect(eventsOf(exchange)).toEqual(['ADDED a']);
  });

  test('sends an ERROR event for a compacted resourceVersion', async () => {
    const on = await open();
    const { revision } = on.cache;
    for (const name of ['a', 'b', 'c']) await on.must(201, 'POST', maps, { metadata: { name } });
    await on.cache.compact(on.cache.revision);
    const { exchange, done } = on.start('GET', `${maps}?watch=1&resourceVersion=${revision}`);
    await done;
    expect(exchange.status).toBe(200);
    expect(exchange.ended).toBe(true);
    expect(framesOf(exchange)).toEqual([
      {
        type: 'ERROR',
        object: expect.objectContaining({
          kind: 'Status',
          code: 410,
          reason: 'Expired',
          message: expect.stringMatching(/^too old resource version: \d+ \(\d+\)$/),
        }),
      },
    ]);
  });

  test('sends nothing before a future resourceVersion is reached', async () => {
    const on = await open();
    const ahead = on.cache.revision + 1;
    const { exchange } = on.start('GET', `${maps}?watch=1&resourceVersion=${ahead}`);
    await eventLoopIdle();
    await on.must(201, 'POST', maps, { metadata: { name: 'at' } });
    await on.must(201, 'POST', maps, { metadata: { name: 'after' } });
    await eventLoopIdle();
    expect(eventsOf(exchange)).toEqual(['ADDED after']);
  });

  test('rejects contradictory options with an error response', async () => {
    const on = await open();
    expect((await on.ask('GET', `${maps}?watch=1&resourceVersionMatch=Exact&resourceVersion=5`)).status).toBe(422);
    expect((await on.ask('GET', `${maps}?watch=1&resourceVersion=x`)).status).toBe(500);
    expect((await on.ask('GET', `${maps}?watch=1&fieldSelector=spec.x%3D1`)).status).toBe(400);
  });
});

describe('events', () => {
  test('of a selection: ADDED when an object starts to match, DELETED with its last matching state', async () => {
    const on = await open();
    const { exchange } = on.start('GET', `${maps}?watch=1&resourceVersion=${on.cache.revision}&labelSelector=on%3Dyes`);
    await eventLoopIdle();
    await on.must(201, 'POST', maps, { metadata: { name: 'a' }, data: { n: '1' } });
    await label(on, 'a', 'yes');
    await on.must(200, 'PATCH', `${maps}/a`, { data: { n: '2' } }, mergePatch);
    await label(on, 'a', 'no');
    await on.must(200, 'DELETE', `${maps}/a`);
    await eventLoopIdle();
    const frames = framesOf(exchange);
    expect(eventsOf(exchange)).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a']);
    expect(frames[2]?.object).toMatchObject({ metadata: { labels: { on: 'yes' } }, data: { n: '2' } });
    expect(Number(frames[2]?.object.metadata.resourceVersion)).toBeGreaterThan(
      Number(frames[1]?.object.metadata.resourceVersion),
    );
  });

  test('of an object are sent to watches by its name only', async () => {
    const on = await open();
    const a = on.start('GET', `${maps}?watch=1&fieldSelector=metadata.name%3Da`);
    const b = on.start(
      'GET',
      '/api/v1/configmaps?watch=1&fieldSelector=metadata.namespace%3Ddefault%2Cmetadata.name%3Db',
    );
    await eventLoopIdle();
    for (const name of ['a', 'b', 'ab']) await on.must(201, 'POST', maps, { metadata: { name } });
    await eventLoopIdle();
    expect(eventsOf(a.exchange)).toEqual(['ADDED a']);
    expect(eventsOf(b.exchange)).toEqual(['ADDED b']);
  });

  test('of a watch by name respect its other selectors', async () => {
    const on = await open();
    const watch = (selectors: string): TestExchange => on.start('GET', `${maps}?watch=1&${selectors}`).exchange;
    const labelled = watch('fieldSelector=metadata.name%3Da&labelSelector=on%3Dyes');
    const otherNamespace = watch('fieldSelector=metadata.name%3Da%2Cmetadata.namespace%3Dkube-system');
    const never = watch('fieldSelector=metadata.name%3Da%2Cmetadata.name%21%3Da');
    const contradictory = watch('fieldSelector=metadata.name%3Da%2Cmetadata.name%3Db');
    await eventLoopIdle();
    await on.must(201, 'POST', maps, { metadata: { name: 'a' } });
    await label(on, 'a', 'yes');
    await label(on, 'a', 'no');
    await eventLoopIdle();
    expect(eventsOf(labelled)).toEqual(['ADDED a', 'DELETED a']);
    for (const silent of [otherNamespace, never, contradictory]) expect(eventsOf(silent)).toEqual([]);
  });

  test('are sent for the deprecated path of a single object', async () => {
    const on = await open();
    const { exchange } = on.start('GET', '/api/v1/watch/namespaces/default/configmaps/a');
    await eventLoopIdle();
    for (const name of ['a', 'b']) await on.must(201, 'POST', maps, { metadata: { name } });
    await eventLoopIdle();
    expect(eventsOf(exchange)).toEqual(['ADDED a']);
  });

  test('of one tick are sent in one write, with bytes shared by all watches', async () => {
    const on = await open();
    const watches = [0, 1, 2].map(
      () => on.start('GET', `${maps}?watch=1&resourceVersion=${on.cache.revision}`).exchange,
    );
    await eventLoopIdle();
    await Promise.all(['a', 'b', 'c'].map((name) => on.must(201, 'POST', maps, { metadata: { name } })));
    await eventLoopIdle();
    for (const { text, chunks } of watches) {
      expect(text).toBe(watches[0]?.text);
      expect(chunks.length).toBeLessThan(3);
    }
  });

  test('contain column definitions once as tables, and only metadata as PartialObjectMetadata', async () => {
    const on = await open();
    await on.must(201, 'POST', maps, { metadata: { name: 'a' } });
    const table = on.start('GET', `${maps}?watch=1`, undefined, {
      accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
    });
    const partial = on.start('GET', `${maps}?watch=1`, undefined, {
      accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
    });
    await eventLoopIdle();
    await on.must(201, 'POST', maps, { metadata: { name: 'b' }, data: { k: 'v' } });
    await eventLoopIdle();
    const tables = framesOf(table.exchange).map(
      ({ object }) => object as unknown as { columnDefinitions: unknown[] | null; rows: { cells: unknown[] }[] },
    );
    expect(tables.map(({ columnDefinitions, rows }) => [columnDefinitions?.length ?? null, rows[0]?.cells[0]])).toEqual(
      [
        [3, 'a'],
        [null, 'b'],
      ],
    );
    expect(framesOf(partial.exchange).map(({ object }) => Object.keys(object))).toEqual([
      ['kind', 'apiVersion', 'metadata'],
      ['kind', 'apiVersion', 'metadata'],
    ]);
  });

  test('are converted to versions other than the stored one', async () => {
    const on = await open();
    const event = {
      metadata: { name: 'e' },
      involvedObject: { namespace: 'default', kind: 'Pod' },
      reason: 'R',
      message: 'm',
    };
    const { exchange } = on.start(
      'GET',
      '/apis/events.k8s.io/v1/namespaces/default/events?watch=1&fieldSelector=regarding.kind%3DPod',
    );
    await eventLoopIdle();
    await on.must(201, 'POST', '/api/v1/namespaces/default/events', event);
    await on.must(200, 'DELETE', '/api/v1/namespaces/default/events/e');
    await eventLoopIdle();
    const objects = framesOf(exchange).map(
      ({ type, object }) => [type, object.apiVersion, object['note'], object.metadata.resourceVersion] as const,
    );
    expect(objects.map(([type, version, note]) => [type, version, note])).toEqual([
      ['ADDED', 'events.k8s.io/v1', 'm'],
      ['DELETED', 'events.k8s.io/v1', 'm'],
    ]);
    expect(objects[1]?.[3]).toBe(String(on.cache.revision));
  });
});

describe('time', () => {
  test('sends a bookmark every minute', async () => {
    const on = await open();
    const { exchange } = on.start(
      'GET',
      `${maps}?watch=1&resourceVersion=${on.cache.revision}&allowWatchBookmarks=true`,
    );
    const silent = on.start('GET', `${maps}?watch=1&resourceVersion=${on.cache.revision}`);
    await eventLoopIdle();
    await on.must(201, 'POST', '/api/v1/namespaces', { metadata: { name: 'elsewhere' } });
    await on.clock.advance(61_000);
    await eventLoopIdle();
    expect(framesOf(exchange)).toEqual([
      {
        type: 'BOOKMARK',
        object: { kind: 'ConfigMap', apiVersion: 'v1', metadata: { resourceVersion: String(on.cache.revision) } },
      },
    ]);
    expect(silent.exchange.chunks).toEqual([]);
  });

  test('ends the response after timeoutSeconds', async () => {
    const on = await open();
    const { exchange, done } = on.start('GET', `${maps}?watch=1&timeoutSeconds=5`);
    await eventLoopIdle();
    await on.clock.advance(4_000);
    expect(exchange.ended).toBe(false);
    await on.clock.advance(1_500);
    await done;
    expect(exchange.ended).toBe(true);
    expect(on.hub.size).toBe(0);
  });

  test('runs no timer without watches', async () => {
    const on = await open();
    const idle = on.clock.timers;
    const { exchange, done } = on.start('GET', `${maps}?watch=1`);
    await eventLoopIdle();
    expect(on.clock.timers).toBe(idle + 1);
    exchange.leave();
    await done;
    expect(on.clock.timers).toBe(idle);
  });
});

describe('end', () => {
  test('a client that does not read is disconnected above its limit; other watches continue', async () => {
    const on = await open();
    const slow = on.start('GET', `${maps}?watch=1&resourceVersion=${on.cache.revision}`);
    const quick = on.start('GET', `${maps}?watch=1&resourceVersion=${on.cache.revision}`);
    await eventLoopIdle();
    slow.exchange.stall = true;
    const data = { big: 'x'.repeat(300_000) };
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
      await on.must(201, 'POST', maps, { metadata: { name }, data });
      await eventLoopIdle();
    }
    await slow.done;
    expect(slow.exchange.destroyed).toBe(true);
    expect(eventsOf(quick.exchange)).toHaveLength(6);
    expect(on.hub.size).toBe(1);
  });

  test('a client that reads gets more than its limit at once', async () => {
    const on = await open();
    const { revision } = on.cache;
    const running = on.start('GET', `${maps}?watch=1&resourceVersion=${revision}`);
    await eventLoopIdle();
    const data = { big: 'x'.repeat(300_000) };
    const created = ['a', 'b', 'c', 'd', 'e', 'f'];
    await Promise.all(created.map((name) => on.must(201, 'POST', maps, { metadata: { name }, data })));
    const resumed = on.start('GET', `${maps}?watch=1&resourceVersion=${revision}`);
    await eventLoopIdle();
    for (const { exchange } of [running, resumed])
      expect(eventsOf(exchange).sort()).toEqual(created.map((name) => `ADDED ${name}`));
  });

  test('clients that do not read are disconnected above the limit of all watches, the longest blocked first', async () => {
    const on = await open({ maxUnreadBytes: 750_000 });
    const url = `${maps}?watch=1&resourceVersion=${on.cache.revision}`;
    const [never, slowly, late, quick] = [0, 1, 2, 3].map(() => on.start('GET', url));
    await eventLoopIdle();
    let made = 0;
    const change = async (): Promise<void> => {
      await on.must(201, 'POST', maps, { metadata: { name: `m${made++}` }, data: { big: 'x'.repeat(100_000) } });
      await eventLoopIdle();
    };
    const gone = () => [never, slowly, late, quick].map((one) => one?.exchange.destroyed);
    if (never === undefined || slowly === undefined || late === undefined || quick === undefined) throw new Error();
    slowly.exchange.stall = true;
    await change();
    never.exchange.stall = true;
    await change();
    // The client reads all queued frames, then stops reading again.
    slowly.exchange.resume();
    slowly.exchange.stall = true;
    await change();
    expect(on.hub.unread.total).toBeGreaterThan(300_000);
    late.exchange.stall = true;
    await change();
    expect(gone()).toEqual([false, false, false, false]);
    await change();
    await never.done;
    expect(gone()).toEqual([true, false, false, false]);
    await change();
    await slowly.done;
    expect(gone()).toEqual([true, true, false, false]);
    expect(eventsOf(quick.exchange)).toHaveLength(made);
    late.exchange.resume();
    await eventLoopIdle();
    expect(eventsOf(late.exchange)).toHaveLength(made);
    expect([on.hub.unread.total, on.hub.size]).toEqual([0, 2]);
  });

  test('a client that does not read the initial list is disconnected above the limit, or after a minute', async () => {
    const on = await open({ maxUnreadBytes: 500_000 });
    // One object, so that it is sent at once however short the time slice is.
    await on.must(201, 'POST', maps, { metadata: { name: 'a' }, data: { big: 'x'.repeat(450_000) } });
    const begin = async () => {
      const started = on.start(
        'GET',
        `${maps}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
      );
      started.exchange.stall = true;
      await eventLoopIdle();
      return started;
    };
    const first = await begin();
    await eventLoopIdle();
    expect(on.hub.unread.total).toBeGreaterThan(0);
    const second = await begin();
    await first.done;
    expect([first.exchange.destroyed, second.exchange.destroyed]).toEqual([true, false]);
    await on.clock.advance(60_000);
    await second.done;
    expect(second.exchange.destroyed).toBe(true);
    expect(on.hub.unread.total).toBe(0);
  });

  test('an ended watch waits up to a minute for its client to read', async () => {
    const on = await open();
    const url = `${maps}?watch=1&timeoutSeconds=5&resourceVersion=${on.cache.revision}`;
    const [never, late] = [on.start('GET', url), on.start('GET', url)];
    await eventLoopIdle();
    for (const { exchange } of [never, late]) exchange.stall = true;
    for (const name of ['a', 'b']) {
      await on.must(201, 'POST', maps, { metadata: { name } });
      await eventLoopIdle();
    }
    await on.clock.advance(5_000);
    await on.must(201, 'POST', maps, { metadata: { name: 'too-late' } });
    await eventLoopIdle();
    expect(on.hub.unread.total).toBeGreaterThan(0);
    expect([never, late].map(({ exchange }) => exchange.ended)).toEqual([false, false]);
    late.exchange.resume();
    await late.done;
    expect(eventsOf(late.exchange)).toEqual(['ADDED a', 'ADDED b']);
    expect([late.exchange.ended, late.exchange.destroyed]).toEqual([true, false]);
    await on.clock.advance(61_000);
    await never.done;
    expect(never.exchange.destroyed).toBe(true);
    expect([on.hub.unread.total, on.hub.size]).toEqual([0, 0]);
  });

  test('when the server stops, queued events are sent before the response ends', async () => {
    const on = await open();
    const { exchange, done } = on.start('GET', `${maps}?watch=1`);
    await eventLoopIdle();
    await on.must(201, 'POST', maps, { metadata: { name: 'a' } });
    on.stop();
    await done;
    expect(eventsOf(exchange)).toEqual(['ADDED a']);
    expect(exchange.ended).toBe(true);
    expect(exchange.destroyed).toBe(false);
  });

  test('when a definition changes, only its watches end', async () => {
    const on = await open();
    const definition = (plural: string): KubeObject => ({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.example.com` },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural, kind: `${plural}Kind`, singular: `${plural}one` },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object' } } } },
          },
        ],
      },
    });
    await on.serve(definition('hats'));
    await on.serve(definition('caps'));
    const hats = on.start('GET', '/apis/example.com/v1/namespaces/default/hats?watch=1');
    const caps = on.start('GET', '/apis/example.com/v1/namespaces/default/caps?watch=1');
    await eventLoopIdle();
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/hats.example.com';
    await on.must(200, 'PATCH', path, { metadata: { labels: { only: 'bookkeeping' } } }, mergePatch);
    await eventLoopIdle();
    expect(hats.exchange.ended).toBe(false);
    await on.must(200, 'PATCH', path, { spec: { names: { shortNames: ['ht'] } } }, mergePatch);
    await hats.done;
    expect(hats.exchange.ended).toBe(true);
    expect(caps.exchange.ended).toBe(false);
  });
});

describe('events of large objects that are encoded', () => {
  const data = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`m${index}`, 'x']));
  const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };

  test.each([table, { accept: 'application/vnd.kubernetes.protobuf' }])('keep their order, as %j', async (headers) => {
    const on = await open();
    const { exchange } = on.start('GET', `${maps}?watch=1&resourceVersion=${on.cache.revision}`, undefined, headers);
    await eventLoopIdle();
    await on.must(201, 'POST', maps, { metadata: { name: 'first' } });
    await on.must(201, 'POST', maps, { metadata: { name: 'large' }, data });
    await on.must(201, 'POST', maps, { metadata: { name: 'between' } });
    await on.must(200, 'DELETE', `${maps}/large`);
    await on.must(201, 'POST', maps, { metadata: { name: 'last' } });
    await eventLoopIdle();
    expect(exchange.text).toContain('last');
    let at = -1;
    for (const name of ['first', 'large', 'between', 'large', 'last']) {
      const next = exchange.text.indexOf(name, at + 1);
      expect(next).toBeGreaterThan(at);
      at = next;
    }
  });

  test('are not overtaken by bookmarks', async () => {
    const on = await open();
    const path = `${maps}?watch=1&allowWatchBookmarks=true&resourceVersion=${on.cache.revision}`;
    const { exchange } = on.start('GET', path, undefined, table);
    await eventLoopIdle();
    await on.must(201, 'POST', maps, { metadata: { name: 'large' }, data });
    await on.clock.advance(61_000);
    expect(exchange.text).toContain('BOOKMARK');
    expect(framesOf(exchange).map(({ type }) => type)).toEqual(['ADDED', 'BOOKMARK']);
  });
});
