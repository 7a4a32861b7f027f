import { expect, test } from '@jest/globals';
import { HeaderFilter } from './header-filter.ts';

const filter = new HeaderFilter({
  names: ['X-Remote-User', 'x_custom'],
  prefixes: ['X-Remote-Extra-'],
  hyphenatedOnly: ['impersonate-'],
});

test.each(['x-remote-user', 'X-REMOTE-USER', 'x_remote-user', 'X_REMOTE_USER', 'x-custom', 'X_Custom'])(
  '%s matches a listed name',
  (name) => expect(filter.matches(name)).toBe(true),
);
test.each(['x-remote-extra-a', 'X_Remote_Extra_a', 'x-remote-extra-'])('%s matches a prefix', (name) =>
  expect(filter.matches(name)).toBe(true),
);
test.each(['impersonate_user', 'Impersonate_Extra-x', 'impersonate-extra_x'])(
  '%s matches a hyphenated-only prefix',
  (name) => expect(filter.matches(name)).toBe(true),
);
test.each(['x-remote-users', 'remote-user', 'x-remote', 'impersonate-user', 'user_agent', '__proto__'])(
  '%s does not match',
  (name) => expect(filter.matches(name)).toBe(false),
);
test('rejects an empty prefix', () => {
  expect(() => new HeaderFilter({ prefixes: [''] })).toThrow('every header');
  expect(() => new HeaderFilter({ hyphenatedOnly: [''] })).toThrow('every header');
});
