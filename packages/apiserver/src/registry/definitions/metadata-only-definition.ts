import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import { type ResourceDefinition, defaultStrategy } from '@multiplane/apis';
import { createSchemaCompiler } from '@multiplane/schema';
import { registryPrefix } from '@multiplane/storage';

/** Takes every object as it is. */
const anySchema = createSchemaCompiler({ origin: 'custom' })({
  type: 'object',
  'x-kubernetes-preserve-unknown-fields': true,
});

/** True for what {@link metadataOnlyDefinition} made. kcp's own kinds are the same everywhere, though they look custom. */
export function isMetadataOnly({ schema }: ResourceDefinition): boolean {
  return schema === anySchema;
}

/**
 * The objects of all definitions of one name, whatever their schemas and versions are in the different logical clusters:
 * only what all objects have in common can be asked for (C4.4). `example` is any of those definitions.
 */
export function metadataOnlyDefinition(
  group: string,
  version: string,
  resource: string,
  example: DeepReadonly<KubeObject>,
): ResourceDefinition {
  const spec = example['spec'] as
    | {
        readonly scope?: string;
        readonly names?: { readonly kind?: string; readonly singular?: string; readonly listKind?: string };
      }
    | undefined;
  const kind = spec?.names?.kind ?? '';
  return {
    group,
    version,
    resource,
    singular: spec?.names?.singular ?? kind.toLowerCase(),
    kind,
    listKind: spec?.names?.listKind ?? `${kind}List`,
    namespaced: spec?.scope === 'Namespaced',
    shortNames: [],
    categories: [],
    verbs: ['list', 'watch'],
    origin: 'custom',
    schema: anySchema,
    strategy: defaultStrategy(),
    subresources: {},
    tableConvertor: { columns: [], cells: () => [] },
    fieldSelectors: {},
    // One segment shorter than that of any of the definitions: identities and clusters follow.
    storage: { group, version, kind, prefix: `${registryPrefix}${group === '' ? 'core' : group}/${resource}/` },
  };
}
