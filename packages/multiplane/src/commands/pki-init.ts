import { relative, resolve } from 'node:path';
import { OptionError, parseOptions, type Command, type OptionTable } from '@multiplane/component-base';
import { renewedKubeconfig, type Kubeconfig } from '@multiplane/client';
import { initClusterPki, problemOf, type ClusterPkiOptions } from '@multiplane/component-base/pki';
import type { Environment } from './server-command.ts';

const table = {
  directory: { type: 'text', default: '.multiplane/pki', description: 'Folder for all of it; made with mode 0700.' },
  'shard-urls': {
    type: 'map',
    default: { root: 'https://localhost:6444', 'shard-1': 'https://localhost:6445' },
    description:
      'Shards and where the other servers reach them, as in root=https://localhost:6444,shard-1=https://localhost:6445 (which is the default). One is called root.',
  },
  'external-url': {
    type: 'text',
    default: 'https://localhost:6443',
    description: 'Where clients reach the front-proxy; admin.kubeconfig leads there.',
  },
  'front-proxy-url': { type: 'text', description: 'Where the servers reach it; default: the external URL.' },
  'cache-url': {
    type: 'text',
    default: 'https://localhost:8012',
    description: 'Where the servers reach the cache server.',
  },
  hosts: { type: 'list', description: 'Further names and addresses for the certificate of every server.' },
  'name-prefix': {
    type: 'text',
    description: 'Every server is also reached by its name with this in front; for the Helm chart: <fullname>-.',
  },
  days: { type: 'number', default: 365, min: 1, description: 'Life of certificates.' },
  'authority-days': { type: 'number', default: 3650, min: 1, description: 'Life of authorities.' },
  renew: {
    type: 'boolean',
    default: false,
    description: 'Make every certificate anew, not only those that run out within 30 days. Authorities are kept.',
  },
  quiet: { type: 'boolean', default: false, description: 'Do not list what was kept.' },
} as const satisfies OptionTable;

/** `multiplane pki init`. */
export const pkiInitCommand = (environment: Environment): Command => ({
  help: {
    description: [
      'Makes the authorities, certificates, keys and kubeconfigs of a sharded set-up in one folder. What is there and good',
      'is kept: run it again after adding a shard, or now and then to renew what runs out within 30 days. Running servers',
      'take new certificates over by themselves. An authority is never replaced.',
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
    const problem = problemOf(options);
    if (problem !== undefined) throw new OptionError(problem);
    const counts = { made: 0, renewed: 0, kept: 0 };
    await initClusterPki(
      { ...options, renew },
      {
        renewKubeconfig: (before, made) => renewedKubeconfig(before, JSON.parse(made) as Kubeconfig),
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
