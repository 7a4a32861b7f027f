import type { JsonObject } from '@multiplane/apimachinery';

/*
 * Structural schemas of the two kinds every logical cluster serves.
 */

export const phases = ['Scheduling', 'Initializing', 'Ready', 'Unavailable', 'Inactive', 'Terminating', 'Deleting'];
export const text: JsonObject = { type: 'string' };
const rules = (...pairs: [rule: string, message: string][]): JsonObject => ({
  'x-kubernetes-validations': pairs.map(([rule, message]) => ({ rule, message })),
});
export const nonEmpty: JsonObject = { type: 'string', minLength: 1 };
export const textList: JsonObject = { type: 'array', items: text };
export const workspaceNamePattern = '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$';
export const pathPattern = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(:[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$';
const initializer: JsonObject = {
  type: 'string',
  pattern:
    '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(:[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(:[a-z0-9][a-z0-9]([-a-z0-9]*[a-z0-9])?))|(system:.+)$',
};
const initializers: JsonObject = { type: 'array', items: initializer };

export const conditions: JsonObject = {
  type: 'array',
  description: 'How far the object has come, and what holds it up.',
  items: {
    type: 'object',
    required: ['lastTransitionTime', 'status', 'type'],
    properties: {
      type: text,
      status: text,
      severity: text,
      lastTransitionTime: { type: 'string', format: 'date-time' },
      reason: text,
      message: text,
    },
  },
};

const labelSelector: JsonObject = {
  type: 'object',
  'x-kubernetes-map-type': 'atomic',
  properties: {
    matchLabels: { type: 'object', additionalProperties: text },
    matchExpressions: {
      type: 'array',
      'x-kubernetes-list-type': 'atomic',
      items: {
        type: 'object',
        required: ['key', 'operator'],
        properties: { key: text, operator: text, values: { ...textList, 'x-kubernetes-list-type': 'atomic' } },
      },
    },
  },
};

export const kcpRoot = (spec: JsonObject, status: JsonObject, metadata: JsonObject): JsonObject => ({
  type: 'object',
  properties: { apiVersion: text, kind: text, metadata, spec, status },
});

export const workspaceSchema: JsonObject = {
  required: ['spec'],
  ...kcpRoot(
    {
      type: 'object',
      default: {},
      description: 'What kind of workspace is wanted, and where it lives.',
      ...rules(
        ['!has(oldSelf.URL) || has(self.URL)', 'URL cannot be unset'],
        ['!has(oldSelf.cluster) || has(self.cluster)', 'cluster cannot be unset'],
      ),
      properties: {
        cluster: {
          ...text,
          ...rules(['self == oldSelf', 'cluster is immutable']),
          description: 'Name of the logical cluster behind the workspace; set by the system.',
        },
        URL: { ...text, description: 'Address of the workspace; set by the system.' },
        type: {
          type: 'object',
          description: 'The type of the workspace.',
          ...rules(
            ['self.name == oldSelf.name', 'name is immutable'],
            ['has(oldSelf.path) == has(self.path)', 'path is immutable'],
            ['!has(oldSelf.path) || !has(self.path) || self.path == oldSelf.path', 'path is immutable'],
          ),
          required: ['name'],
          properties: {
            name: { type: 'string', pattern: '^[a-z]([a-z0-9-]{0,61}[a-z0-9])?' },
            path: { type: 'string', pattern: pathPattern },
          },
        },
        location: {
          type: 'object',
          description: 'Where the workspace may be scheduled.',
          properties: { selector: labelSelector },
        },
        mount: {
          type: 'object',
          description: 'The object whose address the workspace takes over.',
          ...rules(['self == oldSelf', 'mount is immutable']),
          required: ['ref'],
          properties: {
            ref: {
              type: 'object',
              required: ['apiVersion', 'kind', 'name'],
              properties: { apiVersion: text, kind: text, name: text, namespace: text },
            },
          },
        },
      },
    },
    {
      type: 'object',
      default: {},
      properties: {
        phase: { type: 'string', default: 'Scheduling', enum: phases },
        conditions,
        initializers,
        terminators: initializers,
      },
    },
    {
      type: 'object',
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 63, pattern: workspaceNamePattern },
      },
    },
  ),
  description: 'A workspace: an API endpoint of its own, below the one it was created in.',
};

export const logicalClusterSchema: JsonObject = {
  ...kcpRoot(
    {
      type: 'object',
      default: {},
      properties: {
        directlyDeletable: { type: 'boolean', default: false },
        owner: {
          type: 'object',
          required: ['apiVersion', 'cluster', 'name', 'resource', 'uid'],
          properties: {
            apiVersion: { type: 'string', pattern: '^([^/]+/)?[^/]+$' },
            resource: nonEmpty,
            name: nonEmpty,
            namespace: text,
            cluster: nonEmpty,
            uid: text,
          },
        },
        createdBy: {
          type: 'object',
          properties: {
            username: text,
            uid: text,
            groups: textList,
            extra: { type: 'object', additionalProperties: textList },
          },
        },
        initializers,
        terminators: initializers,
      },
    },
    {
      type: 'object',
      default: {},
      properties: {
        URL: text,
        phase: { type: 'string', default: 'Scheduling', enum: phases },
        conditions,
        initializers,
        terminators: initializers,
      },
    },
    { type: 'object', properties: { name: { type: 'string', enum: ['cluster'] } } },
  ),
  description: 'One logical cluster, as the system sees it.',
};
