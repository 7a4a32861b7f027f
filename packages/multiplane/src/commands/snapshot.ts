import type { CommandGroup } from '@multiplane/component-base';
import type { Environment } from './server-command.ts';

/** `multiplane snapshot`. */
export const snapshotCommand = (environment: Environment): CommandGroup => ({
  description: [
    'Backs up the store of a shard: all its workspaces, at one revision, while it runs; or with --workspace one workspace with all',
    'below it. A snapshot contains Secrets; keep it like the store. The keys and certificates in the root directory are not part.',
  ].join('\n'),
  commands: [
    {
      name: 'save',
      summary: 'Save the store of a running shard, of a stopped one, or in etcd; or a workspace.',
      load: async () => (await import('./snapshot-save.ts')).snapshotSaveCommand(environment),
    },
    {
      name: 'restore',
      summary: 'Restore a snapshot into an empty store, of any backend; or a workspace into a running control plane.',
      load: async () => (await import('./snapshot-restore.ts')).snapshotRestoreCommand(environment),
    },
    {
      name: 'status',
      summary: 'Verify a snapshot and say what it contains.',
      load: async () => (await import('./snapshot-status.ts')).snapshotStatusCommand(environment),
    },
  ],
});
