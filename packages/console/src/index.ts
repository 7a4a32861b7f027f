export { basePath } from './server/base-path.ts';
export { createLoginLink, type LoginLinkOptions } from './server/create-login-link.ts';
export { embedConsole, type ConsoleHost } from './server/embed-console.ts';
export {
  checkConsoleOptions,
  completeConsoleServerOptions,
  consoleOptionTable,
  consoleServerOptionSections,
  consoleServerOptionTable,
  type ConsoleOptions,
  type ConsoleServerOptions,
} from './server/options.ts';
export type { ConsoleModules } from './server/server.ts';
export { runConsole } from './server/run-console.ts';
