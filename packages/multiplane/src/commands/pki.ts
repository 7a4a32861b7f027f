import type { CommandGroup } from '@multiplane/component-base';
import type { Environment } from './server-command.ts';

/** Certificates of a sharded set-up. */
export const pkiCommand = (environment: Environment): CommandGroup => ({
  description:
    'Makes the authorities, certificates, keys and kubeconfigs that the servers of a sharded set-up trust each other with.',
  commands: [
    {
      name: 'init',
      summary: 'Make all of it, or what is missing or about to run out; safe to run again.',
      load: async () => (await import('./pki-init.ts')).pkiInitCommand(environment),
    },
    {
      name: 'issue',
      summary: 'Make one further certificate, for a server or a client.',
      load: async () => (await import('./pki-issue.ts')).pkiIssueCommand(environment),
    },
    {
      name: 'secrets',
      summary: 'Print all of it as Secrets, for the Helm chart.',
      load: async () => (await import('./pki-secrets.ts')).pkiSecretsCommand(environment),
    },
  ],
});
