import { expect, test } from '@jest/globals';
import { FakeClock } from '@multiplane/testing';
import { LoginLinks } from './login-links.ts';

const link = { user: { name: 'admin', groups: [] }, credential: { kind: 'token', token: 't' } } as const;

test('a link shows its user until it is used, once', () => {
  const links = new LoginLinks({ lifetimeMs: 1_000, maxLinks: 2 }, { clock: new FakeClock() });
  const { code } = links.create(link);
  expect([links.peek(code), links.peek(code)]).toEqual([link.user, link.user]);
  expect(links.redeem(code)).toMatchObject(link);
  expect([links.peek(code), links.redeem(code)]).toEqual([undefined, undefined]);
});

test('links end after their time, and make room for others', async () => {
  const clock = new FakeClock();
  const links = new LoginLinks({ lifetimeMs: 1_000, maxLinks: 2 }, { clock });
  const codes = [links.create(link).code, links.create(link).code];
  expect(() => links.create(link)).toThrow('too many unused links');
  await clock.advance(1_000);
  expect(codes.map((code) => links.redeem(code))).toEqual([undefined, undefined]);
  expect(links.redeem(links.create(link).code)).toMatchObject(link);
});
