import { existsSync, readFileSync } from 'node:fs';
import { readClientConfig } from '@multiplane/client';
import { OptionError, parseOptions, type Command, type OptionTable } from '@multiplane/component-base';
import { createLoginLink } from '@multiplane/console';
import type { Environment } from './server-command.ts';

const table = {
  kubeconfig: { type: 'text', description: 'Kubeconfig of the user; default: $KUBECONFIG.' },
  context: { type: 'text', description: 'Context of the kubeconfig; default: the current one.' },
  'console-url': {
    type: 'text',
    description: 'URL of the console without a path; default: the server of the kubeconfig.',
  },
  'console-ca-file': {
    type: 'text',
    description: 'CAs that verify the console (PEM); default: those of the kubeconfig.',
  },
  'client-certificate': {
    type: 'text',
    description: 'Client certificate in place of the credential of the kubeconfig (PEM), such as one that ends soon.',
  },
  'client-key': { type: 'text', description: 'Key of that certificate.' },
} as const satisfies OptionTable;

/** `multiplane console-link`. */
export const consoleLinkCommand = (environment: Environment): Command => ({
  help: {
    usage: 'multiplane console-link [--kubeconfig file] [--console-url url]',
    description:
      'Prints a link that logs the user of a kubeconfig in to the web console, once. The console keeps the credential in memory until the session ends.',
    sections: { Flags: table },
  },
  run: async (args) => {
    const { values, operands } = parseOptions(table, { args, environment });
    if (operands[0] !== undefined) throw new OptionError(`unexpected argument ${JSON.stringify(operands[0])}`);
    const file = values.kubeconfig ?? environment['KUBECONFIG'];
    if (file === undefined) throw new OptionError('--kubeconfig is required');
    const { clientCertificate, clientKey, consoleCaFile } = values;
    if ((clientCertificate === undefined) !== (clientKey === undefined))
      throw new OptionError('--client-certificate and --client-key go together');
    for (const name of [file, consoleCaFile, clientCertificate, clientKey])
      if (name !== undefined && !existsSync(name)) throw new OptionError(`${name} does not exist`);
    const read = (name: string): string => readFileSync(name, 'utf8');
    const stored = readClientConfig({ file, context: values.context });
    const config = {
      ...stored,
      ...(consoleCaFile === undefined ? {} : { ca: read(consoleCaFile) }),
      ...(clientCertificate === undefined || clientKey === undefined
        ? {}
        : { token: undefined, certificate: read(clientCertificate), key: read(clientKey) }),
    };
    const consoleUrl = new URL(values.consoleUrl ?? config.server).origin;
    const { url } = await createLoginLink({ consoleUrl, config });
    process.stdout.write(`${url}\n`);
    return 0;
  },
});
