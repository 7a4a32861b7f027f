import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import {
  clusterObject,
  eventsOf,
  labelKey,
  Marketplace,
  mustSucceed,
  objectOf,
  summary,
  type Cluster,
} from './marketplace.ts';

const transfer = 'scopes.multiplane.dev/transfer';
const record = 'scopes.multiplane.dev/finalizers';
const force = 'scopes.multiplane.dev/force-transfer';
const finalizer = 'a.example/cleanup';

let market: Marketplace;
beforeAll(async () => {
  market = await Marketplace.start({ transfer: 'WhenFinalizersGone', transferDeadlineSeconds: 0 });
  await market.createScope('closed', { assignment: 'Provider' });
  await market.createScope('slow', { transfer: 'WhenFinalizersGone' });
  for (const name of ['closed', 'slow']) await market.inForce(name);
}, 240_000);
afterAll(async () => {
  await market?.[Symbol.asyncDispose]();
});

const current = async (consumer: string, name: string): Promise<Cluster> =>
  objectOf(await market.shared.requests.send({ path: market.own(consumer, name) }));
const scopeOf = ({ metadata }: Cluster): string | undefined => metadata.labels?.[labelKey];

/** An object in scope a with a finalizer that was added through it. */
async function held(consumer: string, name: string): Promise<void> {
  mustSucceed(await market.create(consumer, name, { [labelKey]: 'a' }));
  mustSucceed(await market.patch(market.in('a', consumer, name), { metadata: { finalizers: [finalizer] } }, 'user-1'));
}

describe.each(['near', 'far'])('with the consumer %s', (consumer) => {
  test('an object with a finalizer of the old provider stays until the finalizer is gone, then moves', async () => {
    const name = `held-${consumer}`;
    await held(consumer, name);
    expect((await current(consumer, name)).metadata.annotations?.[record]).toBe(
      JSON.stringify({ [labelKey]: [finalizer] }),
    );
    const [a, b] = [await market.watch('a', consumer), await market.watch('b', consumer)];
    const pending = objectOf(await market.move(consumer, name, 'b'));
    expect(scopeOf(pending)).toBe('a');
    expect(JSON.parse(pending.metadata.annotations?.[transfer] ?? '')).toMatchObject({
      [labelKey]: { from: 'a', to: 'b' },
    });
    // The old provider still has it, the new one does not.
    mustSucceed(await market.patch(market.in('a', consumer, name), { spec: { size: 5 } }, 'user-1'));
    expect((await market.patch(market.in('b', consumer, name), { spec: { size: 6 } }, 'user-2')).status).toBe(404);
    const more = { metadata: { finalizers: [finalizer, 'a.example/more'] } };
    const refused = await market.patch(market.in('a', consumer, name), more, 'user-1');
    expect([refused.status, refused.json['message']]).toEqual([403, expect.stringContaining('waits for its transfer')]);
    // The write that removes the last finalizer moves it.
    const released = await market.patch(market.in('a', consumer, name), { metadata: { finalizers: null } }, 'user-1');
    const moved = objectOf(released);
    expect(scopeOf(moved)).toBe('b');
    expect(moved.metadata.annotations ?? {}).not.toHaveProperty(transfer);
    expect(moved.metadata.annotations ?? {}).not.toHaveProperty(record);
    expect((await market.get('a', consumer, name)).status).toBe(404);
    expect(objectOf(await market.get('b', consumer, name)).spec).toEqual({ size: 5 });
    const last = `${name} ${moved.metadata.resourceVersion}`;
    await eventually(async () => {
      expect(summary(await eventsOf(a, 1))).toContain(`DELETED ${last}`);
      expect(summary(await eventsOf(b, 1))).toContain(`ADDED ${last}`);
    });
    a.close();
    b.close();
  });

  test('a delete reaches the provider whose finalizer is on the object, also while a transfer is pending', async () => {
    const name = `dying-${consumer}`;
    await held(consumer, name);
    mustSucceed(await market.move(consumer, name, 'b'));
    mustSucceed(
      await market.shared.requests.send({ as: 'user-3', method: 'DELETE', path: market.own(consumer, name) }),
    );
    expect((await market.get('a', consumer, name)).status).toBe(200);
    const watch = await market.watch('a', consumer, `&fieldSelector=metadata.name%3D${name}`);
    mustSucceed(await market.patch(market.in('a', consumer, name), { metadata: { finalizers: [] } }, 'user-1'));
    const events = await eventsOf(watch, 2);
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'DELETED']);
    watch.close();
    expect((await market.get('b', consumer, name)).status).toBe(404);
  });

  test('no write by the consumer or a provider moves an object out of its scope', async () => {
    const name = `kept-${consumer}`;
    mustSucceed(await market.create(consumer, name, { [labelKey]: 'a' }));
    const own = market.own(consumer, name);
    const through = market.in('a', consumer, name);
    const object = await current(consumer, name);
    const { requests } = market.shared;
    const elsewhere = clusterObject(name, { labels: { [labelKey]: 'b' } });
    const apply = { 'content-type': 'application/apply-patch+yaml' };
    for (const [as, path] of [
      ['user-3', own],
      ['user-1', through],
    ] as const) {
      for (const labels of [{ [labelKey]: 'b' }, { [labelKey]: null }, { [labelKey]: 'unknown' }, null]) {
        const { status, json } = await market.patch(path, { metadata: { labels } }, as);
        expect({ as, labels, status, json }).toMatchObject({ as, labels, status: 403 });
      }
      const put = await requests.send({
        as,
        method: 'PUT',
        path,
        body: { ...object, metadata: { ...object.metadata, labels: { [labelKey]: 'b' } } },
      });
      expect(put.status).toBe(403);
      const applied = await requests.send({
        as,
        method: 'PATCH',
        path: `${path}?fieldManager=m&force=true`,
        headers: apply,
        body: elsewhere,
      });
      expect(applied.status).toBe(403);
      // A write of the status has no effect on labels.
      const status = { metadata: { labels: { [labelKey]: 'b' } }, status: { phase: 'Up' } };
      mustSucceed(await market.patch(`${path}/status`, status, as));
    }
    // The records are written by the server only.
    const forged = {
      [labelKey]: { from: 'a', to: 'b', requestedAt: '2020-01-01T00:00:00Z', deadline: '2020-01-01T00:00:00Z' },
    };
    const annotations = { [transfer]: JSON.stringify(forged), [force]: 'true' };
    for (const [as, path] of [
      ['user-3', own],
      ['user-1', through],
    ] as const)
      mustSucceed(await market.patch(path, { metadata: { annotations } }, as));
    const after = await current(consumer, name);
    expect(scopeOf(after)).toBe('a');
    expect(after.metadata.annotations).not.toHaveProperty(transfer);
    expect(after.metadata.annotations).not.toHaveProperty(force);
  });

  test('a label is set once: by the consumer at creation, later by those who may assign', async () => {
    const name = `late-${consumer}`;
    mustSucceed(await market.create(consumer, name));
    const labels = { metadata: { labels: { [labelKey]: 'a' } } };
    expect((await market.patch(market.own(consumer, name), labels, 'user-3')).status).toBe(403);
    mustSucceed(await market.patch(market.own(consumer, name), labels, 'masters'));
    expect(scopeOf(await current(consumer, name))).toBe('a');
    // A scope with assignment Provider, and a value without a scope, cannot be chosen by the consumer.
    for (const value of ['closed', 'unknown']) {
      const refused = await market.create(consumer, `x-${value}`, { [labelKey]: value });
      expect([refused.status, refused.json['message']]).toEqual([403, expect.stringContaining('is protected')]);
    }
    mustSucceed(await market.create(consumer, `x-${consumer}`, { [labelKey]: 'closed' }, 'masters'));
    // A scope that forbids transfers neither gives nor takes objects.
    for (const [object, value] of [
      [name, 'closed'],
      [`x-${consumer}`, 'a'],
    ] as const) {
      const refused = await market.move(consumer, object, value);
      expect([refused.status, refused.json['message']]).toEqual([
        403,
        expect.stringContaining('APIExportScope "closed" does not allow transfers'),
      ]);
    }
  });

  test('a transfer can be forced after its deadline, which removes the finalizers of the old provider', async () => {
    const name = `forced-${consumer}`;
    await held(consumer, name);
    const other = 'consumer.example/own';
    const finalizers = { metadata: { finalizers: [finalizer, other] } };
    mustSucceed(await market.patch(market.own(consumer, name), finalizers, 'user-3'));
    const early = await market.move(consumer, name, 'b', { [force]: 'true' });
    expect([early.status, early.json['message']]).toEqual([403, expect.stringContaining('cannot be forced')]);
    expect(scopeOf(objectOf(await market.move(consumer, name, 'b')))).toBe('a');
    // The same request again does not force.
    expect(scopeOf(objectOf(await market.move(consumer, name, 'b')))).toBe('a');
    const forced = objectOf(await market.move(consumer, name, 'b', { [force]: 'true' }));
    expect(scopeOf(forced)).toBe('b');
    expect(forced.metadata.finalizers).toEqual([other]);
    expect(forced.metadata.annotations ?? {}).toEqual(expect.not.objectContaining({ [force]: 'true' }));
  });

  test('a transfer cannot be forced before its deadline', async () => {
    const name = `waiting-${consumer}`;
    mustSucceed(await market.create(consumer, name, { [labelKey]: 'slow' }));
    const { requests } = market.shared;
    const path = market.in('slow', consumer, name);
    mustSucceed(await market.patch(path, { metadata: { finalizers: ['slow.example/f'] } }, 'masters'));
    mustSucceed(await market.move(consumer, name, 'a'));
    const early = await market.move(consumer, name, 'a', { [force]: 'true' });
    expect([early.status, early.json['message']]).toEqual([
      403,
      expect.stringMatching(/cannot be forced before \d{4}-/),
    ]);
    expect((await requests.send({ path: market.own(consumer, name) })).status).toBe(200);
  });
});

test('the verb assign on both scopes is needed for a transfer, on every shard', async () => {
  const assign = (scope: string): object => ({
    apiGroups: ['scopes.multiplane.dev'],
    resources: ['apiexportscopes'],
    resourceNames: [scope],
    verbs: ['assign'],
  });
  const consumers = ['near', 'far'];
  for (const consumer of consumers) mustSucceed(await market.create(consumer, 'assigned', { [labelKey]: 'a' }));
  const move = (consumer: string) =>
    market.patch(market.own(consumer, 'assigned'), { metadata: { labels: { [labelKey]: 'b' } } }, 'user-3');
  await market.grant('provider', 'user-3', 'assign-a', [assign('a')]);
  for (const consumer of consumers) expect((await move(consumer)).json['message']).toContain('needs the verb "assign"');
  await market.grant('provider', 'user-3', 'assign-b', [assign('b')]);
  for (const consumer of consumers) {
    // Rights of another shard take effect when its cached objects arrive.
    await eventually(async () => mustSucceed(await move(consumer)), { timeout: 30_000 });
    expect(scopeOf(await current(consumer, 'assigned'))).toBe('b');
  }
});
