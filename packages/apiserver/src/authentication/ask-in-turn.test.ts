import { describe, expect, test } from '@jest/globals';
import { askInTurn } from './ask-in-turn.ts';
import type { AuthenticationResponse, Soon } from './authenticator.ts';

type Ask = () => Soon<AuthenticationResponse | undefined>;

const somebody = (name: string): AuthenticationResponse => ({ user: { name, uid: '', groups: [], extra: {} } });
const knows = (name: string): Ask => {
  const answer = somebody(name);
  return () => answer;
};
const knowsLater =
  (name: string): Ask =>
  () =>
    Promise.resolve(somebody(name));
const unknown: Ask = () => undefined;
const unknownLater: Ask = () => Promise.resolve(undefined);
const refuses: Ask = () => {
  throw new Error('refused');
};
const refusesLater: Ask = () => Promise.reject(new Error('refused later'));

describe('authenticators that are asked in turn', () => {
  test.each<[string, readonly Ask[], string | undefined, readonly string[]]>([
    ['nobody is asked', [], undefined, []],
    ['the first who knows counts', [unknown, knows('a'), knows('b')], 'a', []],
    ['a promise is waited for before the next is asked', [unknownLater, knowsLater('a'), knows('b')], 'a', []],
    ['a refusal is no end', [refuses, refusesLater, knows('a')], 'a', ['refused', 'refused later']],
    ['refusals behind a promise are kept too', [unknownLater, refuses, unknown], undefined, ['refused']],
    ['nobody knows', [unknown, unknownLater], undefined, []],
  ])('%s', async (_name, authenticators, name, texts) => {
    const failures: Error[] = [];
    const answer = await askInTurn(authenticators, (ask) => ask(), failures);
    expect(answer?.user.name).toBe(name);
    expect(failures.map(({ message }) => message)).toEqual(texts);
  });

  test('nothing is waited for where nobody promises', () => {
    const failures: unknown[] = [];
    expect(askInTurn([unknown, refuses, knows('a')], (ask) => ask(), failures)).toMatchObject({ user: { name: 'a' } });
    expect(failures).toHaveLength(1);
  });
});
