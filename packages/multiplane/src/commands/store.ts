import type { CommandGroup } from '@multiplane/component-base';
import type { Environment } from './server-command.ts';

/** `multiplane store`. */
export const storeCommand = (environment: Environment): CommandGroup => ({
  description:
    'Maintains the embedded store of a shard. The shard must be stopped; etcd has etcdctl and etcdutl for this.',
  commands: [
    {
      name: 'check',
      summary: 'Read and verify every record; change nothing.',
      load: async () => (await import('./store-check.ts')).storeCheckCommand(environment),
    },
    {
      name: 'repair',
      summary: 'Rewrite what is intact, so that the next start finds no damage.',
      load: async () => (await import('./store-repair.ts')).storeRepairCommand(environment),
    },
    {
      name: 'defragment',
      summary: 'Drop the history and give unused disk space back.',
      load: async () => (await import('./store-defragment.ts')).storeDefragmentCommand(environment),
    },
  ],
});
