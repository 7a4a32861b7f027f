// Import rules made from the one table in hack/architecture.ts.
import { owners, packages, testOnly } from './hack/architecture.ts';

const tests = '\\.test\\.ts$|/conformance/|^packages/[^/]+/test/';
const escape = (text) => text.replaceAll(/[.\\/]/g, (c) => `\\${c}`);

const arrows = Object.entries(packages).map(([name, { mayImport }]) => ({
  name: `arrow:${name}`,
  comment: `${name} may import only: ${mayImport.join(', ') || 'no other package'}`,
  severity: 'error',
  from: { path: `^packages/${name}/`, pathNot: tests },
  to: { path: '^packages/', pathNot: `^packages/(${[name, ...mayImport].join('|')})/` },
}));

const libraries = Object.entries(owners).map(([library, owning]) => ({
  name: `owner:${library}`,
  comment: `only ${owning.join(', ')} may import ${library}`,
  severity: 'error',
  from: { path: '^packages/', pathNot: `^packages/(${[...owning, ...testOnly].join('|')})/|${tests}` },
  to: { path: `node_modules/${escape(library)}/` },
}));

/** What a package exports: `exports` of its package.json, and the conformance suites of its contracts. */
const entries =
  '^packages/[^/]+/(src/(encryption/|etcd/|jetstream/|pki/|serving/|shard/|topology/)?|test/conformance/)index\\.ts$|^packages/storage/src/snapshot/snapshot-format\\.ts$';

export default {
  forbidden: [
    {
      name: 'no-circular',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'through-the-index',
      comment: 'another package is imported by its name, never by a path into it',
      severity: 'error',
      from: { path: '^packages/([^/]+)/' },
      to: { path: '^packages/', pathNot: `^packages/$1/|${entries}` },
    },
    {
      name: 'through-the-index-from-outside',
      comment:
        'e2e and hack import a package through its index, too, but for its test support; tests of documents read option tables',
      severity: 'error',
      from: { path: '^(e2e|hack)/', pathNot: '^hack/.*\\.test\\.ts$' },
      to: { path: '^packages/', pathNot: `^packages/[^/]+/test/|${entries}` },
    },
    {
      name: 'packages-stand-alone',
      comment: 'no package knows the end-to-end suites or the tools',
      severity: 'error',
      from: { path: '^packages/' },
      to: { path: '^(e2e|hack)/' },
    },
    ...arrows,
    ...libraries,
  ],
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '/dist/|\\.cache/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['multiplane-source', 'import', 'node', 'default'],
      extensions: ['.ts', '.mts', '.js', '.mjs', '.json', '.d.ts'],
    },
  },
};
