import { parseYaml } from '@multiplane/apimachinery';
import { ConfigurationDocument, readOptionFile, withOption } from '@multiplane/component-base';

const flag = 'root-identities-file';
const nonEmpty = { type: 'string', minLength: 1, description: 'a non-empty string' };

interface RootIdentities {
  readonly identities: readonly { readonly export: string; readonly identity: string }[];
}

const document = new ConfigurationDocument<RootIdentities>(
  {
    schema: {
      type: 'object',
      required: ['identities'],
      properties: {
        identities: {
          type: 'array',
          items: {
            type: 'object',
            required: ['export', 'identity'],
            properties: { export: nonEmpty, identity: nonEmpty },
          },
        },
      },
    },
  },
  { decode: parseYaml },
);

/**
 * Reads `--root-identities-file`: the identity keys of the root workspace's APIExports, by export name, for an installation
 * that must share identities with another one. A key applies when its export gets its first identity. Throws OptionError.
 */
export function readRootIdentities(file: string | undefined): ReadonlyMap<string, string> {
  if (file === undefined) return new Map();
  const text = readOptionFile(flag, file);
  const { identities } = withOption(flag, () => document.parse(text, file));
  return new Map(identities.map(({ export: name, identity }) => [name, identity]));
}
