import type { Command } from '@multiplane/component-base';
import {
  completeFrontProxyOptions,
  frontProxyOptionSections,
  frontProxyOptionTable,
  runFrontProxy,
} from '@multiplane/front-proxy';
import { serverCommand, type Environment } from './server-command.ts';

/** What clients talk to: finds the shard of a workspace and forwards. */
export const frontProxyCommand = (environment: Environment): Command =>
  serverCommand(
    {
      sections: frontProxyOptionSections,
      table: frontProxyOptionTable,
      complete: completeFrontProxyOptions,
      run: runFrontProxy,
    },
    environment,
  );
