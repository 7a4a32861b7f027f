import { describe, expect, test } from '@jest/globals';
import { impersonatedUser } from './impersonation.ts';

/** A header as Node hands it over: bytes of UTF-8, read as Latin-1. */
const asRead = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

describe('who a request wants to act as', () => {
  test('has a name of any language', () => {
    const wanted = impersonatedUser({
      'impersonate-user': asRead('Jürgen 猫'),
      'impersonate-group': [asRead('größte'), 'team'],
      'impersonate-extra-place': asRead('Zürich'),
    });
    expect(wanted?.user).toMatchObject({
      name: 'Jürgen 猫',
      groups: ['größte', 'team', 'system:authenticated'],
      extra: { place: ['Zürich'] },
    });
  });
});
