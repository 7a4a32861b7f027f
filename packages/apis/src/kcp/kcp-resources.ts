import type { Json, JsonObject, KubeObject } from '@multiplane/apimachinery';
import { CustomResources } from '../apiextensions/custom-resources.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { shardSchema } from './shard-schema.ts';
import { logicalClusterSchema, workspaceSchema } from './workspace-schema.ts';
import { workspaceTypeSchema } from './workspace-type-schema.ts';

interface KcpKind {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly shortNames?: string[];
  readonly schema: JsonObject;
  readonly columns: Json[];
  /** Served in this logical cluster alone. */
  readonly onlyIn?: string;
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
    // Where kcp binds the export that has them (C12.2); tenants have no use for them.
    onlyIn: 'root',
  },
];

let definitions: readonly ResourceDefinition[] | undefined;

/**
 * The kinds of kcp that every logical cluster serves. They are what a definition of theirs would be, only that nobody
 * can delete it; their objects lie where kcp keeps those of its system definitions (C4.1).
 */
export function kcpResources(): readonly ResourceDefinition[] {
  definitions ??= kinds.flatMap((kind) =>
    new CustomResources()
      .definitionsOf(definitionOf(kind), new AbortController().signal)
      .map((definition) => (kind.onlyIn === undefined ? definition : { ...definition, onlyIn: kind.onlyIn })),
  );
  return definitions;
}

function definitionOf({ group, kind, plural, shortNames = [], schema, columns }: KcpKind): KubeObject {
  const names = {
    plural,
    singular: kind.toLowerCase(),
    kind,
    listKind: `${kind}List`,
    shortNames,
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
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          subresources: { status: {} },
          additionalPrinterColumns: columns,
        },
      ],
    },
    status: { acceptedNames: names },
  };
}
