import type { Command } from '@multiplane/component-base';
import {
  completeFrontProxyOptions,
  frontProxyOptionSections,
  frontProxyOptionTable,
  runFrontProxy,
} from '@multiplane/front-proxy';
import { serverCommand, type Environment } from './server-command.ts';

/** `multiplane front-proxy`: forwards requests to the shard of their workspace. */
export const frontProxyCommand = (environment: Environment): Command =>
  serverCommand(
    {
      sections: frontProxyOptionSections,
      table: frontProxyOptionTable,
      complete: completeFrontProxyOptions,
      run: async (options, modules) => {
        // CEL and its packages are loaded only for an authentication configuration, the only user of expressions.
        const jwtExpressions =
          options.authenticationConfig === undefined
            ? undefined
            : new (await import('@multiplane/apiserver')).JwtCelCompiler();
        await runFrontProxy(options, { ...modules, jwtExpressions });
      },
    },
    environment,
  );
