import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';

/** docs/security.md names a test as `file` — "title", or the part of the title that the source has. */
const root = join(import.meta.dirname, '..');
const text = readFileSync(join(root, 'docs', 'security.md'), 'utf8');
const named = [...text.matchAll(/`([\w./-]+\.ts)` — "([^"]+)"/g)].map(([, file = '', title = '']) => ({ file, title }));

/** Texts of a source: a title in a comment is no test. */
function literalsOf(file: string): string {
  const source = readFileSync(join(root, file), 'utf8')
    .replaceAll(/^\s*\/\/.*$/gm, '')
    .replaceAll(/\/\*\*?\s[\s\S]*?\*\//g, '');
  const literals = source.match(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g) ?? [];
  return literals.join('\n').replaceAll("\\'", "'");
}

test.each(named)('$file has "$title"', ({ file, title }) => {
  expect(existsSync(join(root, file))).toBe(true);
  expect(file).toMatch(/\.test\.ts$|^packages\/\w+\/test\/conformance\//);
  expect(literalsOf(file)).toContain(title);
});

/** The tables below the threat model, by their headings: cells of their rows. */
const tables = text
  .slice(text.indexOf('\n## kcp\n'), text.indexOf('\n## What remains\n'))
  .split(/^## /m)
  .slice(1)
  .map((section) => {
    const [heading = '', ...lines] = section.split('\n');
    const rows = lines.filter((line) => line.startsWith('| ')).slice(1);
    return { heading, rows: rows.map((row) => row.slice(2, -2).split(' | ')) };
  });

describe('the tables of known weaknesses', () => {
  test('are those of kcp, its neighbours, Kubernetes, etcd and our own findings', () => {
    expect(tables.map(({ heading, rows }) => [heading, rows.length > 10])).toEqual(
      [
        'kcp',
        'Neighbouring systems',
        'Kubernetes',
        'Objects, expressions and requests',
        'Storage',
        'Demonstrated on earlier versions of Multiplane',
      ].map((heading) => [heading, true]),
    );
  });

  test.each(tables)('$heading: each row names a test, or says why it does not apply', ({ rows }) => {
    expect(rows.filter((cells) => cells.length !== 3 || cells[0] === '')).toEqual([]);
    expect(rows.filter(([, , answer = '']) => !/` — "|^Does not apply/.test(answer))).toEqual([]);
  });

  test.each(tables.filter(({ heading }) => ['Neighbouring systems', 'Kubernetes'].includes(heading)))(
    '$heading: each row has a public identifier',
    ({ rows }) => {
      const identifier = /CVE-\d{4}-\d+|GO-\d{4}-\d+|GHSA-|#\d+|KEP-\d+/;
      expect(rows.filter(([advisory = '']) => !identifier.test(advisory))).toEqual([]);
    },
  );

  test('each attack that was demonstrated has its test in e2e', () => {
    const own = tables.find(({ heading }) => heading.startsWith('Demonstrated'))?.rows ?? [];
    const elsewhere = own.filter(([, , tests = '']) => !tests.includes('`e2e/')).map(([attack]) => attack);
    // Inside of the process; what a client feels of it is in the tests of floods.
    expect(elsewhere).toEqual(['callbacks of one tenant']);
  });
});
