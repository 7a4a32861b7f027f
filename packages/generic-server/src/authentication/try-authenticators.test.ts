import { describe, expect, test } from '@jest/globals';
import { tryAuthenticators } from './try-authenticators.ts';
import type { AuthenticationResponse, MaybePromise } from './authenticator.ts';

type Authenticate = () => MaybePromise<AuthenticationResponse | undefined>;

const responseOf = (name: string): AuthenticationResponse => ({ user: { name, uid: '', groups: [], extra: {} } });
const succeeds = (name: string): Authenticate => {
  const answer = responseOf(name);
  return () => answer;
};
const succeedsLater =
  (name: string): Authenticate =>
  () =>
    Promise.resolve(responseOf(name));
const unknown: Authenticate = () => undefined;
const unknownLater: Authenticate = () => Promise.resolve(undefined);
const fails: Authenticate = () => {
  throw new Error('refused');
};
const failsLater: Authenticate = () => Promise.reject(new Error('refused later'));

describe('authenticators are tried in order', () => {
  test.each<[string, readonly Authenticate[], string | undefined, readonly string[]]>([
    ['none', [], undefined, []],
    ['the first success wins', [unknown, succeeds('a'), succeeds('b')], 'a', []],
    ['a promise is awaited before the next one is tried', [unknownLater, succeedsLater('a'), succeeds('b')], 'a', []],
    ['a failure does not stop', [fails, failsLater, succeeds('a')], 'a', ['refused', 'refused later']],
    ['failures after a promise are collected', [unknownLater, fails, unknown], undefined, ['refused']],
    ['none succeeds', [unknown, unknownLater], undefined, []],
  ])('%s', async (_name, authenticators, name, texts) => {
    const failures: Error[] = [];
    const answer = await tryAuthenticators(authenticators, (ask) => ask(), failures);
    expect(answer?.user.name).toBe(name);
    expect(failures.map(({ message }) => message)).toEqual(texts);
  });

  test('without promises the result is synchronous', () => {
    const failures: unknown[] = [];
    expect(tryAuthenticators([unknown, fails, succeeds('a')], (ask) => ask(), failures)).toMatchObject({
      user: { name: 'a' },
    });
    expect(failures).toHaveLength(1);
  });
});
