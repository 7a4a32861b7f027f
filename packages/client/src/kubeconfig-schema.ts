import type { ConfigurationSchema } from '@multiplane/component-base';

const string = { type: 'string' };

/** A list of named entries, each with its content under `content`. */
const namedEntries = (content: string, properties: ConfigurationSchema): ConfigurationSchema => ({
  type: 'array',
  items: {
    type: 'object',
    required: ['name', content],
    properties: { name: string, [content]: { type: 'object', properties } },
  },
});

/** Structure of the kubeconfigs that flags of servers name. Unknown fields are ignored, as client-go does. */
export const kubeconfigSchema: ConfigurationSchema = {
  type: 'object',
  description: 'a kubeconfig',
  properties: {
    'current-context': string,
    clusters: namedEntries('cluster', {
      server: string,
      'certificate-authority-data': string,
      'certificate-authority': string,
      'insecure-skip-tls-verify': { type: 'boolean' },
      'tls-server-name': string,
      'proxy-url': string,
    }),
    contexts: namedEntries('context', { cluster: string, user: string, namespace: string }),
    users: namedEntries('user', {
      token: string,
      tokenFile: string,
      'client-certificate-data': string,
      'client-key-data': string,
      'client-certificate': string,
      'client-key': string,
    }),
  },
};
