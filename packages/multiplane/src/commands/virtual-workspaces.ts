import type { Command } from '@multiplane/component-base';
import {
  completeVirtualWorkspacesOptions,
  runVirtualWorkspaces,
  virtualWorkspacesOptionSections,
  virtualWorkspacesOptionTable,
} from '@multiplane/virtual-workspaces';
import { serverCommand, type Environment } from './server-command.ts';

/** The virtual workspaces of one shard, in a process of their own. */
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
