import type { CommandGroup } from '@multiplane/component-base';
import { completionScripts } from './completion-scripts.ts';

/** `multiplane completion bash|zsh|fish|powershell`. */
export const completionCommand = (): CommandGroup => ({
  description:
    'Prints the script with which a shell completes commands, flags and names. The plugins of kubectl need none: kubectl\n' +
    'completes them when its own completion is installed and bin/ is on the PATH.',
  commands: Object.entries(completionScripts).map(([shell, { install, script }]) => ({
    name: shell,
    summary: `Print the script for ${shell}; to use it: ${install}`,
    load: () =>
      Promise.resolve({
        help: { sections: {}, description: `Prints the completion script for ${shell}. To use it:\n\n  ${install}` },
        run: () => {
          process.stdout.write(script);
          return Promise.resolve(0);
        },
      }),
  })),
});
