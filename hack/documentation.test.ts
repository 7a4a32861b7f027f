import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { packages } from './architecture.ts';

const root = join(import.meta.dirname, '..');
const read = (document: string): string => readFileSync(join(root, document), 'utf8');
const readmes = globSync('packages/*/README.md', { cwd: root }).sort();
const sources = globSync('{packages/*/{src,test},e2e,hack}/**/*.{ts,mjs}', { cwd: root });
const topLevel = new Set(['bin', 'deploy', 'docs', 'e2e', 'hack', 'packages']);

/** A file name, or a path below a top-level directory or a package; no glob, no placeholder. */
function isRepositoryPath(text: string): boolean {
  if (!/^[\w./-]+$/.test(text) || text.startsWith('/') || text.startsWith('.')) return false;
  const [first = '', second] = text.split('/');
  if (second === undefined) return /\.(ts|mjs)$/.test(text);
  return topLevel.has(first) || first in packages || first === 'src' || first === 'test' || /\.(ts|mjs|md)$/.test(text);
}

/** The paths in code spans, and the relative targets of links. Fenced code is skipped. */
function pathsIn(text: string): { readonly spans: readonly string[]; readonly links: readonly string[] } {
  const prose = text.replaceAll(/^```.*?^```$/gms, '');
  const spans = [...prose.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span.split(' ')[0] ?? '');
  const links = [...prose.matchAll(/\]\(([^)\s#]+)[^)]*\)/g)].map(([, target = '']) => target);
  return { spans: spans.filter(isRepositoryPath), links: links.filter((target) => !/^[a-z]+:/.test(target)) };
}

/** `bases`: the folders that code spans are relative to. A file name without a folder may be anywhere below `within`. */
function missingPaths(document: string, bases: readonly string[], within = ''): string[] {
  const { spans, links } = pathsIn(read(document));
  const isFound = (span: string): boolean =>
    bases.some((base) => existsSync(join(root, base, span))) ||
    (!span.includes('/') && sources.some((file) => file.startsWith(within) && file.endsWith(`/${span}`)));
  return [
    ...spans.filter((span) => !isFound(span)),
    ...links.filter((target) => !existsSync(join(root, dirname(document), target))),
  ];
}

test.each(globSync('docs/*.md', { cwd: root }).sort())('every path in %s exists', (document) => {
  expect(missingPaths(document, ['', 'packages', 'packages/shard/src/wiring'])).toEqual([]);
});

test.each(['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'deploy/README.md', 'docs/adr/README.md'])(
  'every path in %s exists',
  (document) => {
    expect(missingPaths(document, ['', 'packages', dirname(document)])).toEqual([]);
  },
);

test.each(readmes)('every path in %s exists, and it links to the map', (document) => {
  const folder = dirname(document);
  expect(missingPaths(document, ['', 'packages', folder, join(folder, 'src')], `${folder}/`)).toEqual([]);
  expect(pathsIn(read(document)).links).toContain('../../docs/architecture.md');
});

describe('docs/architecture.md', () => {
  const closure = (edges: ReadonlyMap<string, readonly string[]>, from: string): string[] => {
    const reached = new Set<string>();
    const visit = (name: string): void => {
      for (const next of edges.get(name) ?? []) {
        if (reached.has(next)) continue;
        reached.add(next);
        visit(next);
      }
    };
    visit(from);
    return [...reached].sort();
  };

  test('draws the package arrows of hack/architecture.ts', () => {
    const drawn = new Map<string, string[]>();
    for (const [, from = '', to = ''] of read('docs/architecture.md').matchAll(/^ {2}([a-z-]+) --> ([a-z& -]+)$/gm)) {
      drawn.set(from, [...(drawn.get(from) ?? []), ...to.split(' & ')]);
    }
    const allowed = new Map(Object.entries(packages).map(([name, { mayImport }]) => [name, mayImport]));
    for (const name of Object.keys(packages)) {
      expect([name, closure(drawn, name)]).toEqual([name, closure(allowed, name)]);
    }
  });
});
