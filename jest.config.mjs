// One configuration for all tests. Workspace packages resolve to their sources through the
// `multiplane-source` export condition, so no build is needed before a test.
// Run through hack/test, or: NODE_OPTIONS=--experimental-vm-modules hack/node node_modules/jest/bin/jest.js <path>
const swc = {
  jsc: { parser: { syntax: 'typescript' }, target: 'es2024' },
  module: { type: 'es6' },
  sourceMaps: 'inline',
};

export default {
  testEnvironment: 'node',
  testEnvironmentOptions: {
    customExportConditions: ['multiplane-source', 'node', 'node-addons'],
  },
  roots: ['<rootDir>/packages', '<rootDir>/e2e', '<rootDir>/hack'],
  testMatch: ['**/*.test.ts'],
  modulePathIgnorePatterns: ['/dist/'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': ['@swc/jest', swc] },
  cacheDirectory: '<rootDir>/.cache/jest',
  restoreMocks: true,
  testTimeout: 30_000,
  workerIdleMemoryLimit: '1GB',
};
