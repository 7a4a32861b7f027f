export { createLoginLink } from './server/create-login-link.ts';
export { embedConsole } from './server/embed-console.ts';
export {
  checkConsoleOptions,
  completeConsoleServerOptions,
  consoleOptionTable,
  consoleServerOptionSections,
  consoleServerOptionTable,
  type ConsoleOptions,
} from './server/options.ts';
export { runConsole } from './server/run-console.ts';
