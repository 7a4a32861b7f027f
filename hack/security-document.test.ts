import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

/** docs/security.md names a test as `file` — "title"; a title alone belongs to the file before it. */
const root = join(import.meta.dirname, '..');
const text = readFileSync(join(root, 'docs', 'security.md'), 'utf8');
const rows = text
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (?:known flaw|failure of|advisory|attack|role)/.test(line));
const named = [...text.matchAll(/`([\w./-]+\.ts)` — "([^"]+)"/g)].map(([, file = '', title = '']) => ({ file, title }));

test.each(named)('$file has "$title"', ({ file, title }) => {
  const path = join(root, file);
  expect(existsSync(path)).toBe(true);
  expect(readFileSync(path, 'utf8').replaceAll("\\'", "'")).toContain(title);
});

test('every row of known flaws names a test, or says that it is open or does not apply', () => {
  const [, threats = '', rest = ''] = /^([\s\S]*?)(## Identity and proxies[\s\S]*?)## Does not apply/m.exec(text) ?? [];
  expect(threats).toContain('Threat model');
  const flaws = rows.filter((row) => rest.includes(row));
  expect(flaws.length).toBeGreaterThan(40);
  expect(flaws.filter((row) => !/` — "|\*Open\*/.test(row))).toEqual([]);
});
