import type { Json, JsonObject, KubeObject } from '@multiplane/apimachinery';
import { CustomResources } from '../apiextensions/custom-resources.ts';
import type { ResourceDefinition, VersionConverter } from '../resource-definition.ts';

import { isCachedResourceSlice, withSharedStorage } from './cached-resource-names.ts';
import { withDefaultSlices } from './default-slice.ts';
import { scopeKinds } from '../scopes/scope-kinds.data.ts';
import { describedSchema } from './described-schema.ts';
import { kcpTable } from './kcp-tables.ts';
import { kindSpecs, type KindSpec } from './kind-specs.data.ts';
import { rootExportOf } from './root-export-kinds.ts';
import { shardSchema } from './shard-schema.ts';
import { bindingConversion, exportConversion } from './sharing-conversion.ts';
import { logicalClusterSchema, workspaceSchema } from './workspace-schema.ts';
import { workspaceTypeSchema } from './workspace-type-schema.ts';

interface KcpKind {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly shortNames?: string[];
  readonly schema: JsonObject;
  readonly columns: Json[];
}

const age: JsonObject = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };
const textColumn = (name: string, jsonPath: string, description: string): JsonObject => ({
  name,
  type: 'string',
  jsonPath,
  description,
});

const kinds: readonly KcpKind[] = [
  {
    group: 'tenancy.kcp.io',
    kind: 'Workspace',
    plural: 'workspaces',
    shortNames: ['ws'],
    schema: workspaceSchema,
    columns: [
      textColumn('Type', '.spec.type.name', 'Type of the workspace.'),
      textColumn('Region', ".metadata.labels['region']", 'Region it lives in.'),
      textColumn('Phase', '.status.phase', 'How far it has come.'),
      textColumn('URL', '.spec.URL', 'Its address.'),
      age,
    ],
  },
  {
    group: 'tenancy.kcp.io',
    kind: 'WorkspaceType',
    plural: 'workspacetypes',
    schema: workspaceTypeSchema,
    columns: [],
  },
  {
    group: 'core.kcp.io',
    kind: 'LogicalCluster',
    plural: 'logicalclusters',
    schema: logicalClusterSchema,
    columns: [
      textColumn('Phase', '.status.phase', 'How far it has come.'),
      textColumn('URL', '.status.URL', 'Its address.'),
      age,
    ],
  },
  {
    group: 'core.kcp.io',
    kind: 'Shard',
    plural: 'shards',
    schema: shardSchema,
    columns: [
      textColumn('Region', ".metadata.labels['region']", 'Region it stands in.'),
      textColumn('URL', '.spec.baseURL', 'Where other servers reach it.'),
      textColumn('External URL', '.spec.externalURL', 'Where clients reach its workspaces.'),
      age,
    ],
  },
];

/** Kinds with versions of different shape, by kind: between a version and the stored one. */
const conversions: Readonly<Record<string, Readonly<Record<string, VersionConverter>>>> = {
  APIExport: { v1alpha1: exportConversion },
  APIBinding: { v1alpha1: bindingConversion },
};

let definitions: readonly ResourceDefinition[] | undefined;

/** All compiled kinds of kcp, as the definitions that they would be. */
export function kcpDefinitionObjects(): readonly KubeObject[] {
  return servedKinds().map(definitionOf);
}

const servedKinds = (): readonly ServedKind[] => [
  ...kinds.map(withVersion),
  ...[...kindSpecs, ...scopeKinds].map(withColumns),
];

/**
 * The kinds of kcp that every logical cluster serves. They behave like custom resources whose definition
 * cannot be deleted; their storage keys are those of kcp's system CRDs.
 */
export function kcpResources(): readonly ResourceDefinition[] {
  definitions ??= withSharedStorage(compiledKinds());
  return definitions;
}

const compiledKinds = (): readonly ResourceDefinition[] =>
  servedKinds()
    .map(described)
    .flatMap((kind) =>
      new CustomResources().definitionsOf(definitionOf(kind), new AbortController().signal).map((definition) => {
        const converter = conversions[kind.kind]?.[definition.version];
        const exportedBy = rootExportOf(kind.group, kind.plural);
        return {
          ...definition,
          ...(exportedBy === undefined ? {} : { exportedBy }),
          ...(converter === undefined ? {} : { converter }),
          tableConvertor: kcpTable(kind.kind, definition.tableConvertor),
          ...(isCachedResourceSlice(definition) ? { strategy: withDefaultSlices(definition.strategy) } : {}),
        };
      }),
    );

interface ServedKind {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly shortNames?: readonly string[];
  /** The first one is stored. */
  readonly versions: readonly {
    readonly name: string;
    readonly status: boolean;
    readonly schema: JsonObject;
    readonly columns: readonly Json[];
  }[];
}

const described = (kind: ServedKind): ServedKind => ({
  ...kind,
  versions: kind.versions.map((version) => ({ ...version, schema: describedSchema(kind.kind, version.schema) })),
});

const withVersion = ({ schema, columns, ...kind }: KcpKind): ServedKind => ({
  ...kind,
  versions: [{ name: 'v1alpha1', status: true, schema, columns }],
});

const withColumns = (spec: KindSpec): ServedKind => ({
  ...spec,
  versions: spec.versions.map((version) => ({
    ...version,
    columns: version.columns.map(([name, jsonPath]) =>
      name === age['name'] ? age : { name, type: name === 'Count' ? 'integer' : 'string', jsonPath },
    ),
  })),
});

function definitionOf({ group, kind, plural, shortNames = [], versions }: ServedKind): KubeObject {
  const names = {
    plural,
    singular: kind.toLowerCase(),
    kind,
    listKind: `${kind}List`,
    shortNames: [...shortNames],
    categories: ['kcp'],
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Cluster',
      names,
      versions: versions.map(({ name, status, schema, columns }, index) => ({
        name,
        served: true,
        storage: index === 0,
        schema: { openAPIV3Schema: schema },
        ...(status ? { subresources: { status: {} } } : {}),
        additionalPrinterColumns: [...columns],
      })),
    },
    status: { acceptedNames: names },
  };
}
