import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { cleanTarget, parseRequestPath } from './request-path.ts';

describe('a target has one interpretation', () => {
  test.each([
    ['/', { path: '/', segments: [], query: '' }],
    ['/api', { path: '/api', segments: ['api'] }],
    ['/api/', { path: '/api/', segments: ['api'] }],
    ['/apis?a=/../b', { path: '/apis', segments: ['apis'], query: 'a=/../b' }],
    ['/clusters/root', { cluster: 'root', path: '/', segments: [] }],
    ['/clusters/root?x=/y', { cluster: 'root', path: '/', segments: [], query: 'x=/y' }],
    ['/clusters/root/', { cluster: 'root', path: '/', segments: [] }],
    ['/clusters/system:admin/api/v1', { cluster: 'system:admin', path: '/api/v1', segments: ['api', 'v1'] }],
    ['/clusters/*/api', { cluster: '*', path: '/api' }],
    ['/clusters/%2A/api', { cluster: '*', path: '/api' }],
    ['/clusters/%2a', { cluster: '*', path: '/' }],
    ['/clusters/root%3Aa%3ab/api?x=%3A', { cluster: undefined, clusterPath: 'root:a:b', path: '/api', query: 'x=%3A' }],
    ['/clusters/system%3Aadmin/api', { cluster: 'system:admin', path: '/api' }],
    ['/clusters/r%6Fot', { cluster: 'root', path: '/' }],
    ['/clusters/root:a:b/api', { cluster: undefined, clusterPath: 'root:a:b', path: '/api' }],
    ['/clusters', { cluster: undefined, clusterPath: undefined, path: '/clusters' }],
    ['/clusters/a/clusters/b/api', { cluster: 'a', path: '/clusters/b/api', segments: ['clusters', 'b', 'api'] }],
    ['/x/a%3Ab%20c', { path: '/x/a%3Ab%20c', segments: ['x', 'a:b c'] }],
    ['/.well-known/..x', { segments: ['.well-known', '..x'] }],
  ])('%s', (target, expected) => {
    expect(parseRequestPath(target)).toMatchObject(expected);
  });

  test.each([
    '',
    'http://x/api',
    '*',
    '/a/../b',
    '/a/.',
    '/..',
    '/a/%2e%2e/b',
    '/a/%2E',
    '/a%2fb',
    '/a%2Fb',
    '/a%00',
    '/a%7f',
    '/a%',
    '/a%zz',
    '/a%c3%28',
    '/a\\b',
    '/a b',
    '/a#b',
    '/a\tb',
    '/clusters//api',
    '/clusters/Root',
    '/clusters/-a',
    '/clusters/a%2Fb',
    '/clusters/a%2fapi/v1',
    '/clusters/%2e%2e/api',
    '/clusters/root%253Aa',
    '/clusters/%252A',
    '/clusters/a%3A',
    '/clusters/a%',
    '/clusters/a%00',
    '/clusters/root%3A%2A',
    '/clusters/root:*',
    '/clusters/a:/api',
    '/clusters/:a',
    '/clusters/a::b',
    '/clusters/..',
    '/clusters/system:',
    `/clusters/${'a'.repeat(64)}`,
    '/clusters/a_b',
  ])('%p is refused', (target) => {
    expect(() => parseRequestPath(target)).toThrow(
      /^(the path of the request is not valid|invalid cluster: ".*" does not match the regex)$/,
    );
  });
});

test('no input can change the position of a segment', () => {
  const character = fc.constantFrom(
    '/',
    '.',
    '%',
    '2',
    'f',
    'e',
    '0',
    'a',
    ':',
    '*',
    '?',
    '\\',
    '\u0000',
    'clusters',
    'ü',
  );
  fc.assert(
    fc.property(fc.array(character, { maxLength: 24 }), (parts) => {
      let parsed;
      try {
        parsed = parseRequestPath(`/${parts.join('')}`);
      } catch {
        return;
      }
      for (const segment of parsed.segments) {
        expect(['', '.', '..']).not.toContain(segment);
        expect(segment).not.toContain('/');
        expect(segment).not.toContain('\u0000');
      }
      expect(parsed.path.startsWith('/')).toBe(true);
      expect(parsed.cluster ?? parsed.clusterPath ?? '').not.toMatch(/[^a-z0-9:*-]/);
    }),
  );
});

test.each([
  ['/api/v1', undefined],
  ['/api?x=//', undefined],
  ['//api///v1?a=//', '/api/v1?a=//'],
  ['/clusters/root//api', '/clusters/root/api'],
  ['//evil.example/api', '/evil.example/api'],
  ['/clusters//root/api', undefined],
])('%s cleaned is %p', (target, clean) => {
  expect(cleanTarget(target)).toBe(clean);
});
