import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import { type ResourceDefinition, defaultStrategy } from '@multiplane/apis';
import { createSchemaCompiler } from '@multiplane/schema';
import { registryPrefix } from '@multiplane/storage';

/** Accepts every object. */
const anySchema = createSchemaCompiler({ origin: 'custom' })({
  type: 'object',
  'x-kubernetes-preserve-unknown-fields': true,
});

/** Whether a definition was made by {@link metadataOnlyDefinition}. */
export function isMetadataOnly({ schema }: ResourceDefinition): boolean {
  return schema === anySchema;
}

/**
 * All objects of a resource over all logical clusters, whose CustomResourceDefinitions may have different schemas and
 * versions: requests can only read metadata. `example` is the CustomResourceDefinition of any of them.
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
    // One segment shorter than the prefix of each definition: the identity and the cluster follow.
    storage: { group, version, kind, prefix: `${registryPrefix}${group === '' ? 'core' : group}/${resource}/` },
  };
}
