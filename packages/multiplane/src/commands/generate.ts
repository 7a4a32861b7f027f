import type { CommandGroup } from '@multiplane/component-base';
import type { Environment } from './server-command.ts';

/** `multiplane generate`. */
export const generateCommand = (environment: Environment): CommandGroup => ({
  description: 'Generates code of programs that use an API.',
  commands: [
    {
      name: 'types',
      summary: 'Generate TypeScript types of the kinds that definitions or an APIExport define.',
      load: async () => (await import('./generate-types.ts')).generateTypesCommand(environment),
    },
  ],
});
