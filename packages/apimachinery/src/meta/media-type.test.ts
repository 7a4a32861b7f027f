import { describe, expect, test } from '@jest/globals';
import { accepts, parseAccept, parseMediaType } from './media-type.ts';

const types = (header: string): string[] => parseAccept(header).map(({ type }) => type);

describe('parseAccept', () => {
  test('puts the best first and keeps the order of equals', () => {
    expect(types('application/json;q=0.1, text/plain, application/yaml;q=0.5, */*')).toEqual([
      'text/plain',
      '*/*',
      'application/yaml',
      'application/json',
    ]);
    expect(types('a/b;q=x, c/d')).toEqual(['a/b', 'c/d']);
  });

  test('leaves out what is no media type', () => {
    expect(types('')).toEqual([]);
    expect(types('nonsense, application/, /json, a/b/c, *')).toEqual(['*/*']);
  });

  test('reads parameters', () => {
    const [table, plain] = parseAccept(
      'Application/JSON;as=Table;V=v1;g="meta.k8s.io" , application/json; x="a,b;c\\"d"',
    );
    expect(table?.type).toBe('application/json');
    expect(Object.fromEntries(table?.parameters ?? [])).toEqual({ as: 'Table', v: 'v1', g: 'meta.k8s.io' });
    expect(Object.fromEntries(plain?.parameters ?? [])).toEqual({ x: 'a,b;c"d' });
  });

  test('does not take long over hostile headers', () => {
    const begin = process.cpuUsage();
    for (const header of [','.repeat(1_000_000), ';'.repeat(1_000_000), '"'.repeat(1_000_001), 'a/b,'.repeat(200_000)])
      parseAccept(header);
    expect(process.cpuUsage(begin).user).toBeLessThan(20_000_000);
  });
});

test('a content type loses its parameters', () => {
  expect(parseMediaType('Application/JSON; charset=utf-8').type).toBe('application/json');
  expect(parseMediaType('').type).toBe('');
  expect(parseMediaType('application/yaml;x=y').parameters.get('x')).toBe('y');
});

test('wildcards accept', () => {
  const clause = (header: string) => parseMediaType(header);
  expect(accepts(clause('*/*'), 'application/json')).toBe(true);
  expect(accepts(clause('application/*'), 'application/json')).toBe(true);
  expect(accepts(clause('text/*'), 'application/json')).toBe(false);
  expect(accepts(clause('application/json'), 'application/yaml')).toBe(false);
});
