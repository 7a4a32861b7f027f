/*
 * The kinds of `scopes.multiplane.dev`: schemas with the texts of `kubectl explain`, columns as [name, JSON path].
 */
import type { JsonObject } from '@multiplane/apimachinery';
import type { KindSpec } from '../kcp/kind-specs.data.ts';

const described = (description: string, rest: JsonObject): JsonObject => ({ ...rest, description });
const text = (description: string, rest: JsonObject = {}): JsonObject => ({ ...rest, type: 'string', description });

const pathPattern = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(:[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$';
const valuePattern = '^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$';
const fieldPathPattern = '^spec(\\.[A-Za-z_][A-Za-z0-9_-]*)+$';
const maxFieldValue = 253;
const immutable = (what: string): JsonObject[] => [{ rule: 'self == oldSelf', message: `${what} must not be changed` }];

const typeMeta: JsonObject = {
  apiVersion: text('Version of the API that this object has.'),
  kind: text('Kind of this object.'),
  metadata: { type: 'object' },
};

const conditions: JsonObject = {
  type: 'array',
  description: 'The current state of the object, one entry per aspect.',
  items: {
    type: 'object',
    required: ['type', 'status', 'lastTransitionTime'],
    properties: {
      lastTransitionTime: text('When the condition last changed.', { format: 'date-time' }),
      message: text('What happened and what to do about it, for people.'),
      reason: text('The cause, in one word.'),
      severity: text('Error, Warning or Info; empty where status is True.'),
      status: text('True, False or Unknown.'),
      type: text('The aspect.'),
    },
  },
};

const exportReference: JsonObject = {
  type: 'object',
  description: 'The APIExport whose objects are divided. Creating the object needs the verb `scope` on it.',
  required: ['name'],
  'x-kubernetes-validations': immutable('APIExport reference'),
  properties: {
    path: text('Workspace path or logical cluster of the APIExport; empty: the workspace of this object.', {
      pattern: pathPattern,
    }),
    name: text('Name of the APIExport.', { minLength: 1 }),
  },
};

/** The fields that a scope and the template of a set have in common. */
const policyFields: JsonObject = {
  resources: {
    type: 'array',
    description: 'Resources of the APIExport that belong to the scope. Empty: all of them.',
    maxItems: 256,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['group', 'resource'],
    items: {
      type: 'object',
      required: ['resource'],
      properties: {
        group: text('API group of the resource.', { default: '' }),
        resource: text('Plural name of the resource.', { minLength: 1 }),
      },
    },
  },
  permissionClaims: text(
    'Excluded: the scope has no claimed resources. Labelled: it has the claimed objects that carry its label; a scope by a field cannot have them.',
    { enum: ['Excluded', 'Labelled'], default: 'Excluded' },
  ),
  assignment: text(
    'Who may put an object into the scope when it is created. Consumer: who creates it. Provider: who has the verb `assign` on the scope.',
    { enum: ['Consumer', 'Provider'], default: 'Consumer' },
  ),
  transfer: text(
    'Whether an object may move to another scope. WhenFinalizersGone: it moves once no finalizer is left that was added through this scope.',
    { enum: ['Forbidden', 'WhenFinalizersGone'], default: 'Forbidden' },
  ),
  transferDeadlineSeconds: described('Seconds after which a requested transfer may be forced.', {
    type: 'integer',
    format: 'int32',
    minimum: 0,
    maximum: 2_592_000,
    default: 3_600,
  }),
};

const endpoints: JsonObject = {
  type: 'array',
  description: 'URLs of the scope, one per shard with consumers of the APIExport.',
  items: {
    type: 'object',
    required: ['url'],
    properties: { url: text('Base URL; clients append `/clusters/<logical cluster or *>`.', { minLength: 1 }) },
  },
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['url'],
};

/** A list with one entry per shard, by name. */
const perShard = (description: string, fields: JsonObject): JsonObject => ({
  type: 'array',
  description,
  items: {
    type: 'object',
    required: ['name', ...Object.keys(fields)],
    properties: { name: text('Name of the shard.', { minLength: 1 }), ...fields },
  },
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
});

const scopeSchema: JsonObject = {
  type: 'object',
  description:
    'APIExportScope divides the objects of an APIExport by a label or by a field. It has a virtual workspace in which only the objects with this value exist.',
  required: ['spec'],
  properties: {
    ...typeMeta,
    spec: {
      type: 'object',
      description: 'What belongs to the scope, and who may change that.',
      required: ['export', 'selector'],
      'x-kubernetes-validations': [
        {
          rule: "!has(self.selector.matchFields) || self.permissionClaims == 'Excluded'",
          message: 'permissionClaims must be Excluded for a scope by a field: claimed objects do not have the field',
        },
      ],
      properties: {
        export: exportReference,
        selector: {
          type: 'object',
          description:
            'The label or the field of the objects of the scope: exactly one key with one value. Objects without a value are in no scope.',
          'x-kubernetes-validations': [
            ...immutable('selector'),
            {
              rule: 'has(self.matchLabels) != has(self.matchFields)',
              message: 'exactly one of matchLabels and matchFields must be set',
            },
          ],
          properties: {
            matchFields: {
              type: 'object',
              description:
                'The path of the field below spec, such as spec.className, and its value as text. The storage version of the resource must declare it in selectableFields.',
              minProperties: 1,
              maxProperties: 1,
              additionalProperties: { type: 'string', minLength: 1, maxLength: maxFieldValue },
            },
            matchLabels: {
              type: 'object',
              description: 'The label key and value.',
              minProperties: 1,
              maxProperties: 1,
              additionalProperties: { type: 'string', maxLength: 63, pattern: valuePattern },
            },
          },
        },
        ...policyFields,
      },
    },
    status: {
      type: 'object',
      description: 'What the control plane found.',
      properties: {
        key: text('Key of the label, or path of the field, that the scope selects by.'),
        value: text('Value that the scope selects by.'),
        labelKey: text('Key of the label that the scope selects by. Absent for a scope by a field.'),
        labelValue: text('Value of the label that the scope selects by. Absent for a scope by a field.'),
        exportCluster: text(
          'Logical cluster of the APIExport. It never changes, even if its path names another later.',
        ),
        identityHash: text('Identity of the APIExport, once the scope is in force.'),
        shards: perShard('Number of objects in the scope, per shard with consumers. Each shard updates its entry.', {
          objects: described('Number of objects, without claimed ones.', {
            type: 'integer',
            format: 'int64',
            minimum: 0,
          }),
        }),
        conditions,
      },
    },
  },
};

const scopeSetSchema: JsonObject = {
  type: 'object',
  description: 'APIExportScopeSet creates an APIExportScope for each value of one label or one field.',
  required: ['spec'],
  properties: {
    ...typeMeta,
    spec: {
      type: 'object',
      description: 'The label or field and its values: either a list, or those that occur.',
      required: ['export'],
      'x-kubernetes-validations': [
        {
          rule: 'has(self.labelKey) != has(self.fieldPath)',
          message: 'exactly one of labelKey and fieldPath must be set',
        },
        {
          rule: 'has(self.labelKey) == has(oldSelf.labelKey)',
          message: 'a set by a label must not be changed to one by a field, nor the reverse',
        },
        {
          rule: "!has(self.fieldPath) || !has(self.template.permissionClaims) || self.template.permissionClaims == 'Excluded'",
          message:
            'template.permissionClaims must be Excluded for a set by a field: claimed objects do not have the field',
        },
        { rule: 'has(self.values) != has(self.occurring)', message: 'exactly one of values and occurring must be set' },
      ],
      properties: {
        export: exportReference,
        labelKey: text('Key of the label.', {
          minLength: 1,
          maxLength: 317,
          'x-kubernetes-validations': immutable('labelKey'),
        }),
        fieldPath: text(
          'Path of the field below spec, such as spec.className. The storage version of the resource must declare it in selectableFields.',
          { maxLength: 317, pattern: fieldPathPattern, 'x-kubernetes-validations': immutable('fieldPath') },
        ),
        values: {
          type: 'array',
          description: 'Values, each of which gets a scope.',
          maxItems: 1000,
          'x-kubernetes-list-type': 'set',
          items: { type: 'string', minLength: 1, maxLength: maxFieldValue },
        },
        occurring: {
          type: 'object',
          description:
            'Every value that objects carry gets a scope, which stays when no object carries the value any more. The label or field is protected: who writes a value without a scope needs the verb `create` on apiexportscopes in this workspace.',
          properties: {
            limit: described('Most scopes of the set. A new value beyond it is refused.', {
              type: 'integer',
              format: 'int32',
              minimum: 1,
              maximum: 1000,
              default: 100,
            }),
          },
        },
        template: {
          type: 'object',
          description: 'Fields of the created scopes.',
          default: {},
          properties: policyFields,
        },
      },
    },
    status: {
      type: 'object',
      description: 'What the control plane found.',
      properties: {
        exportCluster: text(
          'Logical cluster of the APIExport. It never changes, even if its path names another later.',
        ),
        identityHash: text('Identity of the APIExport, once it was found.'),
        key: text('Key of the label, or path of the field, of the scopes.'),
        count: { type: 'integer', description: 'Number of scopes of the set.' },
        shards: perShard('The values that occur, per shard with consumers. Each shard updates its entry.', {
          values: {
            type: 'array',
            description: 'Values, at most one more than the limit.',
            maxItems: 1001,
            'x-kubernetes-list-type': 'atomic',
            items: { type: 'string' },
          },
        }),
        conditions,
      },
    },
  },
};

const sliceSchema: JsonObject = {
  type: 'object',
  description: 'APIExportScopeEndpointSlice lists the URLs of the virtual workspace of an APIExportScope.',
  required: ['spec'],
  properties: {
    ...typeMeta,
    spec: {
      type: 'object',
      description: 'Whose URLs are listed.',
      required: ['scope'],
      properties: {
        scope: {
          type: 'object',
          description: 'An APIExportScope of the same workspace.',
          required: ['name'],
          'x-kubernetes-validations': immutable('scope reference'),
          properties: { name: text('Name of the APIExportScope.', { minLength: 1 }) },
        },
        partition: text('Name of a Partition of the same workspace, to list only URLs of its shards.'),
      },
    },
    status: {
      type: 'object',
      description: 'What the control plane found.',
      properties: {
        endpoints,
        shardSelector: text('Label selector of the shards that publish their URL.'),
        conditions,
      },
    },
  },
};

const conditionPath = (type: string): string => `.status.conditions[?(@.type=="${type}")].status`;

export const scopeKinds: readonly KindSpec[] = [
  {
    group: 'scopes.multiplane.dev',
    kind: 'APIExportScope',
    plural: 'apiexportscopes',
    versions: [
      {
        name: 'v1alpha1',
        status: true,
        columns: [
          ['Export', '.spec.export.name'],
          ['Key', '.status.key'],
          ['Value', '.status.value'],
          ['Assignment', '.spec.assignment'],
          ['Transfer', '.spec.transfer'],
          ['Ready', conditionPath('EndpointsReady')],
          ['Age', '.metadata.creationTimestamp'],
        ],
        schema: scopeSchema,
      },
    ],
  },
  {
    group: 'scopes.multiplane.dev',
    kind: 'APIExportScopeSet',
    plural: 'apiexportscopesets',
    versions: [
      {
        name: 'v1alpha1',
        status: true,
        columns: [
          ['Export', '.spec.export.name'],
          ['Key', '.status.key'],
          ['Count', '.status.count'],
          ['Age', '.metadata.creationTimestamp'],
        ],
        schema: scopeSetSchema,
      },
    ],
  },
  {
    group: 'scopes.multiplane.dev',
    kind: 'APIExportScopeEndpointSlice',
    plural: 'apiexportscopeendpointslices',
    versions: [
      {
        name: 'v1alpha1',
        status: true,
        columns: [
          ['Scope', '.spec.scope.name'],
          ['Partition', '.spec.partition'],
          ['Age', '.metadata.creationTimestamp'],
        ],
        schema: sliceSchema,
      },
    ],
  },
];
