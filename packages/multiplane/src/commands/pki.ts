import type { CommandGroup } from '@multiplane/component-base';
import type { Environment } from './server-command.ts';

/** `multiplane pki`. */
export const pkiCommand = (environment: Environment): CommandGroup => ({
  description:
    'Issues the CAs, certificates, keys and kubeconfigs with which the servers of a sharded installation authenticate each other.',
  commands: [
    {
      name: 'init',
      summary: 'Create everything, or what is missing or about to expire; idempotent.',
      load: async () => (await import('./pki-init.ts')).pkiInitCommand(environment),
    },
    {
      name: 'issue',
      summary: 'Issue an additional certificate, for a server or a client.',
      load: async () => (await import('./pki-issue.ts')).pkiIssueCommand(environment),
    },
    {
      name: 'secrets',
      summary: 'Print everything as Secrets, for the Helm chart.',
      load: async () => (await import('./pki-secrets.ts')).pkiSecretsCommand(environment),
    },
  ],
});
