import type { Command } from '@multiplane/component-base';
import {
  completeVirtualWorkspacesOptions,
  runVirtualWorkspaces,
  virtualWorkspacesOptionSections,
  virtualWorkspacesOptionTable,
} from '@multiplane/virtual-workspaces';
import { serverCommand, type Environment } from './server-command.ts';

/** `multiplane virtual-workspaces`: the virtual workspaces of one shard as a separate process. */
export const virtualWorkspacesCommand = (environment: Environment): Command =>
  serverCommand(
    {
      sections: virtualWorkspacesOptionSections,
      table: virtualWorkspacesOptionTable,
      complete: completeVirtualWorkspacesOptions,
      run: runVirtualWorkspaces,
    },
    environment,
  );
