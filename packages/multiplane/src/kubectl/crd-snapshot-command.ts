import { Command } from 'commander';
import { encodeJson, encodeYaml } from '@multiplane/apimachinery';
import { schemaOf } from '../definitions/api-resource-schema-of.ts';
import { readDocuments } from '../definitions/read-documents.ts';

/** `kubectl kcp crd snapshot`: converts CustomResourceDefinitions to APIResourceSchemas, without a server. */
export function crdSnapshotCommand(): Command {
  return new Command('snapshot')
    .description('convert CustomResourceDefinitions to APIResourceSchemas')
    .option('-f, --filename <file>', 'YAML file with CustomResourceDefinitions; - is standard input')
    .option('--prefix <prefix>', 'prefix of the names of the APIResourceSchemas: a date, a version')
    .option('-o, --output <format>', 'yaml or json', 'yaml')
    .action(async ({ filename, prefix, output }: { filename?: string; prefix?: string; output: string }) => {
      if (filename === undefined) throw new Error('--filename is required');
      if (prefix === undefined) throw new Error('--prefix is required');
      if (output !== 'yaml' && output !== 'json')
        throw new Error(`invalid value ${JSON.stringify(output)} for --output; valid values are json, yaml`);
      for (const definition of await readDocuments(filename)) {
        const schema = schemaOf(definition, prefix);
        process.stdout.write(output === 'json' ? `${encodeJson(schema)}\n` : encodeYaml(schema));
        process.stdout.write('\n---\n');
      }
    });
}
