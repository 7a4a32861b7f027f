import { writeFile } from 'node:fs/promises';
import { OptionError, parseOptions, type Command, type OptionTable } from '@multiplane/component-base';
import { readClientConfig, RestTransport } from '@multiplane/client';
import { readDocuments } from '../definitions/read-documents.ts';
import { definitionTypes } from '../generate-types/definition-types.ts';
import { readExport } from '../generate-types/read-export.ts';
import type { Environment } from './server-command.ts';

const table = {
  export: {
    type: 'text',
    description: 'Read the schemas of this APIExport, in the workspace of the kubeconfig, instead of files.',
  },
  kubeconfig: { type: 'text', description: 'Kubeconfig for --export; default: $KUBECONFIG.' },
  context: { type: 'text', description: 'Context of the kubeconfig; default: the current one.' },
  output: { type: 'text', short: 'o', description: 'Write to this file; default: standard output.' },
  import: {
    type: 'text',
    default: '@multiplane/provider',
    description: 'Module from which the generated one imports KubeObject.',
  },
} as const satisfies OptionTable;

/** `multiplane generate types`. */
export const generateTypesCommand = (environment: Environment): Command => ({
  help: {
    usage: 'multiplane generate types FILE... [flags]\n  multiplane generate types --export NAME [flags]',
    description: [
      'Writes a TypeScript module with the types of all kinds that CustomResourceDefinitions or APIResourceSchemas define.',
      'FILE is YAML or JSON, with any number of objects; - is standard input.',
    ].join('\n'),
    sections: { Flags: table },
  },
  run: async (args) => {
    const { values, operands } = parseOptions(table, { args, environment });
    if ((operands.length === 0) === (values.export === undefined))
      throw new OptionError('either files or --export are required');
    const documents =
      values.export === undefined
        ? (await Promise.all(operands.map(readDocuments))).flat()
        : await ofExport(values.export, values.kubeconfig ?? environment['KUBECONFIG'], values.context);
    const module = definitionTypes(documents, values.import);
    if (values.output === undefined) process.stdout.write(module);
    else await writeFile(values.output, module);
    return 0;
  },
});

async function ofExport(
  name: string,
  file: string | undefined,
  context: string | undefined,
): Promise<ReturnType<typeof readExport>> {
  if (file === undefined || file === '') throw new OptionError('--kubeconfig is required with --export');
  const config = readClientConfig({ file, context });
  const transport = new RestTransport({ config, idleTimeoutMs: 30_000 });
  try {
    return await readExport(name, { transport, pathPrefix: new URL(config.server).pathname.replace(/\/$/, '') });
  } finally {
    transport.close();
  }
}
