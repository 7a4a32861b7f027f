import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import { eventsOf, finalizer, labelKey, Marketplace, mustSucceed, objectOf, scopeOf } from './marketplace.ts';

const transfer = 'scopes.multiplane.dev/transfer';
const conditions = 'scopes.multiplane.dev/conditions';
const cancel = 'scopes.multiplane.dev/cancel-transfer';
const force = 'scopes.multiplane.dev/force-transfer';

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

describe.each(['near', 'far'])('with the consumer %s', (consumer) => {
  test('a delete reaches the provider whose finalizer is on the object, also while a transfer is pending', async () => {
    const name = `dying-${consumer}`;
    await market.createHeld(consumer, name);
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

  test('a label is set once: by the consumer at creation, later by those who may assign', async () => {
    const name = `late-${consumer}`;
    mustSucceed(await market.create(consumer, name));
    const labels = { metadata: { labels: { [labelKey]: 'a' } } };
    expect((await market.patch(market.own(consumer, name), labels, 'user-3')).status).toBe(403);
    mustSucceed(await market.patch(market.own(consumer, name), labels, 'masters'));
    expect(scopeOf(await market.current(consumer, name))).toBe('a');
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
    await market.createHeld(consumer, name);
    const other = 'consumer.example/own';
    const finalizers = { metadata: { finalizers: [finalizer, other] } };
    mustSucceed(await market.patch(market.own(consumer, name), finalizers, 'user-3'));
    const early = await market.move(consumer, name, 'b', { [force]: 'true' });
    expect([early.status, early.json['message']]).toEqual([403, expect.stringContaining('cannot be forced')]);
    expect(scopeOf(objectOf(await market.move(consumer, name, 'b')))).toBe('a');
    // The same request again does not force.
    expect(scopeOf(objectOf(await market.move(consumer, name, 'b')))).toBe('a');
    // Only for those who may assign both scopes.
    const change = { metadata: { labels: { [labelKey]: 'b' }, annotations: { [force]: 'true' } } };
    for (const [path, as] of [
      [market.own(consumer, name), 'user-3'],
      [market.in('a', consumer, name), 'user-1'],
    ] as const)
      expect((await market.patch(path, change, as)).status).toBe(403);
    const forced = objectOf(await market.move(consumer, name, 'b', { [force]: 'true' }));
    expect(scopeOf(forced)).toBe('b');
    expect(forced.metadata.finalizers).toEqual([other]);
    expect(forced.metadata.annotations ?? {}).toEqual(expect.not.objectContaining({ [force]: 'true' }));
  });

  test('a pending transfer can be cancelled by those who may assign both scopes, and the object stays', async () => {
    const name = `cancelled-${consumer}`;
    await market.createHeld(consumer, name);
    const own = market.own(consumer, name);
    const ask = (path: string, as: string) =>
      market.patch(path, { metadata: { annotations: { [cancel]: 'true' } } }, as);
    const none = await ask(own, 'masters');
    expect([none.status, none.json['message']]).toEqual([403, expect.stringContaining('no pending transfer')]);
    expect(scopeOf(objectOf(await market.move(consumer, name, 'b')))).toBe('a');
    // To set the label back is no change: the label still has its value.
    expect(objectOf(await market.move(consumer, name, 'a')).metadata.annotations).toHaveProperty([transfer]);
    for (const [path, as] of [
      [own, 'user-3'],
      [market.in('a', consumer, name), 'user-1'],
    ] as const)
      expect((await ask(path, as)).json['message']).toContain('needs the verb "assign"');
    const stays = objectOf(await ask(own, 'masters'));
    for (const annotation of [transfer, conditions, cancel])
      expect(stays.metadata.annotations ?? {}).not.toHaveProperty([annotation]);
    // The provider goes on as before: with more finalizers, and without a move when they are removed.
    const through = market.in('a', consumer, name);
    mustSucceed(await market.patch(through, { metadata: { finalizers: [finalizer, 'a.example/more'] } }, 'user-1'));
    mustSucceed(await market.patch(through, { metadata: { finalizers: null } }, 'user-1'));
    expect(scopeOf(await market.current(consumer, name))).toBe('a');
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
    expect(scopeOf(await market.current(consumer, 'assigned'))).toBe('b');
  }
});
