// Three projects for all tests. Workspace packages resolve to their sources through the `multiplane-source` export
// condition, so no build is needed before a test; only the end-to-end suites run the built command.
// Run through hack/test, or: NODE_OPTIONS=--experimental-vm-modules hack/node node_modules/jest/bin/jest.js <path>
// (--selectProjects all-in-one leaves out what runs a second time on a sharded control plane).
const swc = {
  jsc: { parser: { syntax: 'typescript' }, target: 'es2024' },
  module: { type: 'es6' },
  sourceMaps: 'inline',
};

const common = {
  testEnvironment: 'node',
  testEnvironmentOptions: {
    customExportConditions: ['multiplane-source', 'node', 'node-addons'],
  },
  modulePathIgnorePatterns: ['/dist/'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': ['@swc/jest', swc] },
  cacheDirectory: '<rootDir>/.cache/jest',
  restoreMocks: true,
};

export default {
  projects: [
    {
      ...common,
      displayName: 'all-in-one',
      roots: ['<rootDir>/packages', '<rootDir>/e2e', '<rootDir>/hack'],
      testMatch: ['**/*.test.ts'],
      testPathIgnorePatterns: [
        '/node_modules/',
        '<rootDir>/e2e/containers/',
        // Commands of the plugin on trees that span shards, consumers of several providers, watchers whose access ends: the
        // sharded project has them, where every server on the way takes part.
        '/e2e/workspaces/kubectl-ws\\.test\\.ts$',
        '/e2e/sharing/(expired-token|wild-west)\\.test\\.ts$',
        '/e2e/security/watch-authorization\\.test\\.ts$',
        '/e2e/scopes/(many-providers|status)\\.test\\.ts$',
        '/e2e/virtual-resources/custom-virtual-workspace\\.test\\.ts$',
      ],
    },
    {
      ...common,
      displayName: 'sharded',
      // The suites that name a control plane and not a process, once more on the sharded shape.
      roots: [
        'clients',
        'kubectl',
        'conformance',
        'console',
        'security',
        'sharing',
        'scopes',
        'virtual-resources',
        'workspaces',
      ].map((suite) => `<rootDir>/e2e/${suite}`),
      testMatch: ['**/*.test.ts'],
      // About resources, commands and their output, not about servers: once is enough.
      testPathIgnorePatterns: [
        '/node_modules/',
        '/e2e/clients/(?!large-responses)',
        // What pages look like; e2e/console/browser.test.ts uses them.
        '/e2e/console/(browser-pages|server)\\.test\\.ts$',
        '/e2e/conformance/(recorded|cli|kubernetes)\\.test\\.ts$',
        '/e2e/security/(bodies|budgets|connections|fairness|hostile-objects|identities|local-control-plane|wide-bodies)\\.test\\.ts$',
        '/e2e/kubectl/(get|native-kinds|native-kinds-on-offer|server-side-apply|versions|write)\\.test\\.ts$',
        // What the virtual workspaces of one shard answer, and what one server has with a gate off.
        '/e2e/scopes/(access|acceptance|examples|fields|media-types|protection)\\.test\\.ts$',
        '/e2e/sharing/(broken-by-provider|real-definitions)\\.test\\.ts$',
        '/e2e/virtual-resources/cache-apis-off\\.test\\.ts$',
        // What one shard answers; the front-proxy passes on bodies as they are (packages/front-proxy).
        '/e2e/workspaces/(compressed-lists|isolation|quickstart|two-workspaces)\\.test\\.ts$',
      ],
      setupFiles: ['<rootDir>/e2e/harness/on-sharded.ts'],
    },
    {
      ...common,
      // One suite after the other: each runs a whole control plane in containers, of one store of images.
      displayName: 'containers',
      roots: ['<rootDir>/e2e/containers'],
      testMatch: ['**/*.test.ts'],
    },
  ],
  testSequencer: '<rootDir>/hack/test-sequencer.ts',
  // Of the whole run: jest does not read it from a project.
  testTimeout: 60_000,
  // Scenarios that are played side by side wait most of the time, for definitions to be established and for watches to end.
  maxConcurrency: 10,
  workerIdleMemoryLimit: '1GB',
  // On a saturated machine the process of a worker needs more than half a second to end; jest takes that for a leak.
  workerGracefulExitTimeout: 10_000,
};
