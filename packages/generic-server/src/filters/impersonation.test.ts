import { describe, expect, test } from '@jest/globals';
import { impersonatedUser } from './impersonation.ts';

/** A header as Node provides it: UTF-8 decoded as Latin-1. */
const asRead = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

describe('the impersonated user', () => {
  test('may have a non-ASCII name', () => {
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
