import { expect, test } from '@jest/globals';
import { HeaderFilter } from './header-filter.ts';

const filter = new HeaderFilter({
  names: ['X-Remote-User', 'x_custom'],
  prefixes: ['X-Remote-Extra-'],
  misspelled: ['impersonate-'],
});

test.each(['x-remote-user', 'X-REMOTE-USER', 'x_remote-user', 'X_REMOTE_USER', 'x-custom', 'X_Custom'])(
  '%s is a name of the list in another spelling',
  (name) => expect(filter.matches(name)).toBe(true),
);
test.each(['x-remote-extra-a', 'X_Remote_Extra_a', 'x-remote-extra-'])('%s begins with a prefix', (name) =>
  expect(filter.matches(name)).toBe(true),
);
test.each(['impersonate_user', 'Impersonate_Extra-x', 'impersonate-extra_x'])('%s is misspelled', (name) =>
  expect(filter.matches(name)).toBe(true),
);
test.each(['x-remote-users', 'remote-user', 'x-remote', 'impersonate-user', 'user_agent', '__proto__'])(
  '%s is none of them',
  (name) => expect(filter.matches(name)).toBe(false),
);
test('refuses a prefix that would take everything', () => {
  expect(() => new HeaderFilter({ prefixes: [''] })).toThrow('every header');
  expect(() => new HeaderFilter({ misspelled: [''] })).toThrow('every header');
});
