import type { Json, JsonObject, KubeObject } from '@multiplane/apimachinery';
import { CustomResources } from '../apiextensions/custom-resources.ts';
import { describedSchema } from '../kcp/described-schema.ts';
import { kcpResources } from '../kcp/kcp-resources.ts';
import type { ResourceDefinition } from '../resource-definition.ts';

/** The status of a WorkspaceUsage. */
export interface WorkspaceUsageStatus {
  /** RFC 3339; absent: nothing is known of a write. */
  readonly lastWriteTime?: string;
  /** How much of each limit is used, and of what has none. */
  readonly used: Readonly<Record<string, number>>;
  readonly limits: readonly {
    readonly name: string;
    readonly used?: number;
    /** Absent: no limit. */
    readonly max?: number;
    /** The annotation that sets it. */
    readonly annotation: string;
    /** Who set it: the path of a workspace, `Installation`, or `Default`. */
    readonly setBy: string;
  }[];
}

const count = (description: string): JsonObject => ({ type: 'integer', format: 'int64', description });
const text = (description: string): JsonObject => ({ type: 'string', description });

const schema: JsonObject = {
  type: 'object',
  description:
    'What the workspace uses at the moment, and its limits. Read-only: the server computes it for each request. There is one object, with the name cluster.',
  properties: {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: { type: 'object' },
    status: {
      type: 'object',
      properties: {
        lastWriteTime: {
          type: 'string',
          format: 'date-time',
          description:
            'Time of the last create, update or delete; after a restart of the server that of an object which still exists.',
        },
        used: {
          type: 'object',
          properties: {
            objects: count('Stored objects without events.'),
            bytes: count('Bytes of everything stored, events included.'),
            events: count('Stored events.'),
            definitions: count('CustomResourceDefinitions and APIResourceSchemas.'),
            schemaBytes: count('Bytes of CustomResourceDefinitions and APIResourceSchemas.'),
            watches: count('Open watches.'),
            connections: count('Connections of clients with an open request.'),
            requestsInFlight: count('Other open requests.'),
            requestsPerSecond: count('Requests of the last second that were not refused.'),
            celCostPerSecond: count('Cost units of CEL expressions in the last second.'),
            requests: count('Requests since the server was started.'),
          },
        },
        limits: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: {
            type: 'object',
            required: ['name'],
            properties: {
              name: text('What is limited.'),
              used: count('How much of it is used.'),
              max: count('The limit; absent: none.'),
              annotation: text('The annotation of the Workspace that sets the limit.'),
              setBy: text(
                'Path of the workspace whose administrators set the limit and can raise it; Installation or Default if the administrators of the installation did.',
              ),
            },
          },
        },
      },
    },
  },
};

const column = (name: string, jsonPath: string, description: string, priority = 0): Json => ({
  name,
  type: 'integer',
  jsonPath,
  description,
  priority,
});
const maxOf = (name: string): string => `.status.limits[?(@.name=="${name}")].max`;

const names = {
  plural: 'workspaceusages',
  singular: 'workspaceusage',
  kind: 'WorkspaceUsage',
  listKind: 'WorkspaceUsageList',
  shortNames: ['usage'],
  categories: ['kcp'],
};

const definition: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'workspaceusages.limits.multiplane.dev' },
  spec: {
    group: 'limits.multiplane.dev',
    scope: 'Cluster',
    names,
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: describedSchema(names.kind, schema) },
        additionalPrinterColumns: [
          column('Objects', '.status.used.objects', 'Stored objects without events.'),
          column('Max Objects', maxOf('objects'), 'Their limit.'),
          column('Bytes', '.status.used.bytes', 'Bytes of everything stored.'),
          column('Max Bytes', maxOf('bytes'), 'Their limit.'),
          column('Definitions', '.status.used.definitions', 'CustomResourceDefinitions and APIResourceSchemas.'),
          column('Watches', '.status.used.watches', 'Open watches.'),
          column('Requests', '.status.used.requests', 'Requests since the server was started.'),
          {
            name: 'Last Write',
            type: 'date',
            jsonPath: '.status.lastWriteTime',
            description: 'Time of the last write.',
          },
          column('Events', '.status.used.events', 'Stored events.', 1),
          column('Schema Bytes', '.status.used.schemaBytes', 'Bytes of definitions.', 1),
        ],
      },
    ],
  },
  status: { acceptedNames: names },
};

/**
 * The read-only kind WorkspaceUsage: a view of the LogicalCluster, so that it exists exactly where that does, with a status
 * that `report` computes for each request.
 */
export function workspaceUsages(report: (logicalCluster: KubeObject) => WorkspaceUsageStatus): ResourceDefinition {
  const [custom] = new CustomResources().definitionsOf(definition, new AbortController().signal);
  const viewed = kcpResources().find(({ kind }) => kind === 'LogicalCluster');
  if (custom === undefined || viewed === undefined) throw new TypeError('the definition of WorkspaceUsage is invalid');
  return {
    ...custom,
    verbs: ['get', 'list'],
    subresources: {},
    storage: viewed.storage,
    schemaOf: undefined,
    converter: {
      toStorage: () => {
        throw new TypeError('a WorkspaceUsage is never stored');
      },
      fromStorage: (object) => {
        const status = report(object);
        const { name, creationTimestamp, resourceVersion, annotations } = object.metadata;
        const cluster = annotations?.['kcp.io/cluster'];
        object.metadata = {
          name: name ?? 'cluster',
          ...(resourceVersion === undefined ? {} : { resourceVersion }),
          ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
          ...(cluster === undefined ? {} : { annotations: { 'kcp.io/cluster': cluster } }),
        };
        delete object['spec'];
        object['status'] = status;
      },
    },
  };
}
