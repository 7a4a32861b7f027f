import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { OptionError, parseOptions, type Command, type OptionTable } from '@multiplane/component-base';
import { authorityFiles, authorityNames, pairFiles } from '@multiplane/component-base/pki';
import type { Environment } from './server-command.ts';

const table = {
  directory: { type: 'text', default: '.multiplane/pki', description: 'Folder created by `pki init`.' },
  'name-prefix': { type: 'text', default: '', description: 'Prefix of the Secret names: <fullname>-.' },
  namespace: { type: 'text', description: 'Namespace of the Secrets; default: that of the kubectl context.' },
} as const satisfies OptionTable;

/** `multiplane pki secrets`: the Secrets of the Helm chart with `certificates.source=secrets`, in cert-manager's form. */
export const pkiSecretsCommand = (environment: Environment): Command => ({
  help: {
    description: [
      'Prints certificates and keys as Secrets for the Helm chart with certificates.source=secrets, to be piped into',
      'kubectl apply. Keys of CAs are not included, except that of workspace-ca, with which all shards sign.',
    ].join('\n'),
    sections: { Flags: table },
  },
  run: async (args) => {
    const { values, operands } = parseOptions(table, { args, environment });
    if (operands[0] !== undefined) throw new OptionError(`unexpected argument ${JSON.stringify(operands[0])}`);
    const directory = resolve(values.directory);
    const secrets = secretsOf(directory).map(({ name, data }) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: `${values.namePrefix}${name}`,
        ...(values.namespace === undefined ? {} : { namespace: values.namespace }),
      },
      type: 'Opaque',
      data: Object.fromEntries(Object.entries(data).map(([key, file]) => [key, readFileSync(file).toString('base64')])),
    }));
    process.stdout.write(`${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: secrets }, undefined, 2)}\n`);
    return 0;
  },
});

/** The Secrets by name, with the file of each key. */
function secretsOf(directory: string): { name: string; data: Readonly<Record<string, string>> }[] {
  const authority = authorityFiles(directory, 'serving-ca').certificateFile;
  if (!existsSync(authority)) throw new OptionError(`${authority} does not exist; run multiplane pki init`);
  const pairs = readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ name, ...pairFiles(directory, name) }))
    .filter(({ certificateFile, privateKeyFile }) => existsSync(certificateFile) && existsSync(privateKeyFile));
  return [
    ...authorityNames.map((name) => {
      const { certificateFile, privateKeyFile } = authorityFiles(directory, name);
      const key = name === 'workspace-ca' ? { 'tls.key': privateKeyFile } : {};
      return { name, data: { 'tls.crt': certificateFile, ...key } };
    }),
    {
      name: 'service-account',
      data: { 'tls.key': join(directory, 'service-account.key'), 'tls.crt': join(directory, 'service-account.pub') },
    },
    ...pairs.map(({ name, certificateFile, privateKeyFile }) => ({
      name,
      data: {
        'tls.crt': certificateFile,
        'tls.key': privateKeyFile,
        // Servers verify storage with the client's Secret alone, which may come from another PKI.
        ...(name === 'storage-client' ? { 'ca.crt': authorityFiles(directory, 'storage-ca').certificateFile } : {}),
      },
    })),
  ];
}
