import { asJson, type GroupVersionKind, type KubeObject } from '@multiplane/apimachinery';
import type {
  FieldSelectorLabels,
  ResourceDefinition,
  ResourceStorage,
  Strategy,
  Subresource,
  Verb,
  VersionConverter,
} from './resource-definition.ts';
import { BuiltInSchema } from './schemas/built-in-schema.ts';
import { dropEmptyLists } from './schemas/typed-decoding.ts';
import { shapeOf } from './schemas/typed-shape.ts';
import type { TableConvertor } from './table-convertor.ts';
import { createdAtTable } from './tables/columns.ts';

/** Every verb of a stored kind, in the order of discovery documents. */
export const allVerbs: readonly Verb[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
];

/** The parts of a built-in kind that differ between kinds; the rest is shared. */
export interface BuiltInKind extends GroupVersionKind {
  readonly resource: string;
  readonly namespaced: boolean;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly verbs?: readonly Verb[];
  /** The schema component of the kind. */
  readonly component: string;
  /** Defaults of the type, over and above those of its schema (`SetDefaults_…`). */
  readonly defaults?: (object: KubeObject) => void;
  readonly strategy: Strategy;
  readonly subresources?: Readonly<Record<string, Subresource>>;
  readonly fieldSelectors?: FieldSelectorLabels;
  readonly table?: TableConvertor;
  /** Absent: stored under its own group and resource. Null: never stored. */
  readonly storage?: ResourceStorage | null;
  readonly converter?: VersionConverter;
}

/** Where the objects of a built-in kind live. */
export function builtInStorage(gvk: GroupVersionKind, resource: string): ResourceStorage {
  const { group, version, kind } = gvk;
  return { group, version, kind, prefix: `/registry/${group === '' ? 'core' : group}/${resource}/` };
}

/** The definition of a built-in kind. */
export function builtInKind(kind: BuiltInKind): ResourceDefinition {
  const stored = (strategy: Strategy): Strategy => ({
    ...strategy,
    canonicalize: (object) => {
      strategy.canonicalize(object);
      dropEmptyLists(asJson(object), shapeOf(kind.component));
    },
  });
  const subresources = Object.entries(kind.subresources ?? {}).map(([name, part]): [string, Subresource] => [
    name,
    part.type === 'object' ? { ...part, strategy: stored(part.strategy) } : part,
  ]);
  return {
    group: kind.group,
    version: kind.version,
    kind: kind.kind,
    resource: kind.resource,
    singular: kind.kind.toLowerCase(),
    listKind: `${kind.kind}List`,
    namespaced: kind.namespaced,
    shortNames: kind.shortNames ?? [],
    categories: kind.categories ?? [],
    verbs: kind.verbs ?? allVerbs,
    origin: 'built-in',
    schema: new BuiltInSchema({ component: kind.component, defaults: kind.defaults }),
    strategy: stored(kind.strategy),
    subresources: Object.fromEntries(subresources),
    tableConvertor: kind.table ?? createdAtTable,
    fieldSelectors: kind.fieldSelectors ?? {},
    storage: kind.storage === null ? undefined : (kind.storage ?? builtInStorage(kind, kind.resource)),
    converter: kind.converter,
  };
}
