import type { Command } from '@multiplane/component-base';
import {
  completeConsoleServerOptions,
  consoleServerOptionSections,
  consoleServerOptionTable,
  runConsole,
} from '@multiplane/console';
import { serverCommand, type Environment } from './server-command.ts';

/** `multiplane console`: the web console as a separate process. */
export const consoleCommand = (environment: Environment): Command =>
  serverCommand(
    {
      sections: consoleServerOptionSections,
      table: consoleServerOptionTable,
      complete: completeConsoleServerOptions,
      run: runConsole,
    },
    environment,
  );
