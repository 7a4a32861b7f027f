import { expect, test } from '@jest/globals';
import { FakeClock } from '@multiplane/testing';
import { fixedCredential } from './credential.ts';
import { SessionStore, type NewSession } from './session-store.ts';

const clock = (): FakeClock => new FakeClock();
const of = (name: string, expiresAt?: number): NewSession => ({
  kind: 'token',
  user: { name, groups: [] },
  credential: fixedCredential({ kind: 'token', token: 't' }, expiresAt),
});
const options = { lifetimeMs: 60_000, maxSessions: 3, maxSessionsPerUser: 2 };

test('a session ends after its time, and so do the requests that it has open', async () => {
  const time = clock();
  const store = new SessionStore(options, { clock: time });
  const session = store.create(of('alice'));
  await time.advance(59_999);
  expect(store.get(session.id)).toBe(session);
  expect(session.signal.aborted).toBe(false);
  await time.advance(1);
  expect(session.signal.aborted).toBe(true);
  expect([store.get(session.id), store.size]).toEqual([undefined, 0]);
});

test('a session does not outlive its token', async () => {
  const time = clock();
  const store = new SessionStore(options, { clock: time });
  const session = store.create(of('alice', time.now() + 5_000));
  await time.advance(5_000);
  expect(store.get(session.id)).toBeUndefined();
});

test('the oldest session of a user gives way to a new one; those of others do not', () => {
  const store = new SessionStore(options, { clock: clock() });
  const [first, second, bob] = [store.create(of('alice')), store.create(of('alice')), store.create(of('bob'))];
  const third = store.create(of('alice'));
  expect([first, second, third, bob].map(({ signal }) => signal.aborted)).toEqual([true, false, false, false]);
  expect(() => store.create(of('carol'))).toThrow('too many sessions');
  store.end(second);
  expect(store.create(of('carol')).user.name).toBe('carol');
});

test('ids and tokens of sessions are their own', () => {
  const store = new SessionStore(options, { clock: clock() });
  const [a, b] = [store.create(of('alice')), store.create(of('bob'))];
  expect(new Set([a.id, a.csrfToken, b.id, b.csrfToken]).size).toBe(4);
  expect(store.get(a.csrfToken)).toBeUndefined();
});
