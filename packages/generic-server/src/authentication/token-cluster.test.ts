import { expect, test } from '@jest/globals';
import { clusterOfToken } from './token-cluster.ts';

const jwt = (claims: unknown): string => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.sig`;
const of = (authorization: string | string[] | undefined): string | undefined =>
  clusterOfToken(authorization === undefined ? {} : { authorization });

test('bound and legacy tokens have a logical cluster', () => {
  expect(of(`Bearer ${jwt({ 'kubernetes.io': { clusterName: 'abc' } })}`)).toBe('abc');
  expect(of(`bearer ${jwt({ 'kubernetes.io/serviceaccount/clusterName': 'def' })}`)).toBe('def');
});

test.each([
  undefined,
  '',
  'Bearer ',
  'Bearer opaque',
  'Bearer a.b.c',
  `Bearer ${jwt(null)}`,
  `Bearer ${jwt(5)}`,
  `Bearer ${jwt({ 'kubernetes.io': null })}`,
  `Bearer ${jwt({ 'kubernetes.io': { clusterName: 5 } })}`,
  `Bearer ${jwt({ 'kubernetes.io': { clusterName: '*' } })}`,
  `Bearer ${jwt({ 'kubernetes.io': { clusterName: 'a/../b' } })}`,
  `Bearer ${jwt({ 'kubernetes.io': { clusterName: 'root:a' } })}`,
  `Basic ${jwt({ 'kubernetes.io': { clusterName: 'abc' } })}`,
])('%j names none', (authorization) => {
  expect(of(authorization)).toBeUndefined();
});
