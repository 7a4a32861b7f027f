import { relative, resolve } from 'node:path';
import { OptionError, parseOptions, type Command, type OptionTable } from '@multiplane/component-base';
import { mergeKubeconfig, type Kubeconfig } from '@multiplane/client';
import { initClusterPki, validateClusterPkiOptions, type ClusterPkiOptions } from '@multiplane/component-base/pki';
import type { Environment } from './server-command.ts';

const table = {
  directory: { type: 'text', default: '.multiplane/pki', description: 'Output folder; created with mode 0700.' },
  'shard-urls': {
    type: 'map',
    default: { root: 'https://localhost:6444', 'shard-1': 'https://localhost:6445' },
    description:
      'Shards and the URLs at which the other servers reach them: root=https://localhost:6444,shard-1=https://localhost:6445 (the default). One of them is root.',
  },
  'external-url': {
    type: 'text',
    default: 'https://localhost:6443',
    description: 'URL at which clients reach the front-proxy; the server of admin.kubeconfig.',
  },
  'front-proxy-url': {
    type: 'text',
    description: 'URL at which the servers reach the front-proxy; default: the external URL.',
  },
  'cache-url': {
    type: 'text',
    default: 'https://localhost:8012',
    description: 'URL at which the servers reach the cache server.',
  },
  hosts: { type: 'list', description: 'Additional names and addresses in the certificate of every server.' },
  'name-prefix': {
    type: 'text',
    description: 'Prefix of the Service names of the servers; for the Helm chart: <fullname>-.',
  },
  days: { type: 'number', default: 365, min: 1, max: 36_500, description: 'Validity of certificates in days.' },
  'authority-days': { type: 'number', default: 3650, min: 1, max: 36_500, description: 'Validity of CAs in days.' },
  renew: {
    type: 'boolean',
    default: false,
    description: 'Reissue all certificates, not only those that expire within 30 days. CAs are kept.',
  },
  quiet: { type: 'boolean', default: false, description: 'Do not list files that were kept.' },
} as const satisfies OptionTable;

/** `multiplane pki init`. */
export const pkiInitCommand = (environment: Environment): Command => ({
  help: {
    description: [
      'Creates the CAs, certificates, keys and kubeconfigs of a sharded installation in one folder. Valid files are kept:',
      'run it again after adding a shard, and periodically to renew certificates that expire within 30 days. Running',
      'servers reload renewed certificates. A CA is never replaced.',
    ].join('\n'),
    sections: { Flags: table },
  },
  run: async (args) => {
    const { values, operands } = parseOptions(table, { args, environment });
    if (operands[0] !== undefined) throw new OptionError(`unexpected argument ${JSON.stringify(operands[0])}`);
    const { quiet, renew, ...given } = values;
    const options: ClusterPkiOptions = {
      ...given,
      directory: resolve(given.directory),
      frontProxyUrl: given.frontProxyUrl ?? given.externalUrl,
    };
    const problem = validateClusterPkiOptions(options);
    if (problem !== undefined) throw new OptionError(problem);
    const counts = { made: 0, renewed: 0, kept: 0 };
    await initClusterPki(
      { ...options, renew },
      {
        renewKubeconfig: (before, made) => mergeKubeconfig(before, JSON.parse(made) as Kubeconfig),
        report: (state, path) => {
          counts[state]++;
          if (!quiet || state !== 'kept')
            process.stdout.write(`${state.padEnd(8)}${relative(options.directory, path)}\n`);
        },
      },
    );
    process.stdout.write(`${options.directory}: ${counts.made} made, ${counts.renewed} renewed, ${counts.kept} kept\n`);
    return 0;
  },
});
