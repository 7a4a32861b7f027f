/** Starts and stops a control plane in memory from a test, with any test runner. */
export { startTestingServer, TestingServer, type TestingServerOptions } from './testing-server.ts';
export type { TestingWorkspace } from './testing-workspace.ts';
export { until } from './until.ts';
