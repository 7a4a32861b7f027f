import { expect, test } from '@jest/globals';
import { returnTo } from './return-to.ts';

test.each(['/console/', '/console/w/root:a', '/console/w/root:a/r/v1/configmaps?ns=default#x', '/console/a%2F..%2Fb'])(
  '%j is a page of the console',
  (asked) => expect(returnTo(asked)).toBe(asked),
);

test.each([
  undefined,
  ['/console/a'],
  '',
  'https://evil.example/console/',
  '//evil.example/console/',
  '/\\evil.example/console/',
  '\\\\evil.example/console/',
  '/\t/evil.example/console/',
  '\n//evil.example/console/',
  'javascript:alert(1)//console/',
  'data:text/html,/console/',
  '/consolex/',
  '/console',
  '/console/../clusters/root',
  '/console/%2e%2e/clusters/root',
  '/console/proxy/clusters/root/api',
  '/console/login/link?code=a',
  '/console/logout',
  '//[',
])('%j leads to the start', (asked) => expect(returnTo(asked)).toBe('/console/'));
