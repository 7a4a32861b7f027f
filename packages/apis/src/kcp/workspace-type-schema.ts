import type { JsonObject } from '@multiplane/apimachinery';
import {
  conditions,
  kcpRoot,
  nonEmpty,
  pathPattern,
  text,
  textList,
  workspaceNamePattern,
} from './workspace-schema.ts';

/*
 * Structural schema of WorkspaceType.
 */

const typeReference = (description: string): JsonObject => ({
  type: 'object',
  description,
  required: ['name'],
  properties: {
    name: { type: 'string', pattern: '^[a-z]([a-z0-9-]{0,61}[a-z0-9])?' },
    path: { type: 'string', pattern: pathPattern },
  },
});

const limit = (description: string): JsonObject => ({
  type: 'object',
  description,
  oneOf: [{ required: ['none'] }, { required: ['types'] }],
  properties: {
    none: { type: 'boolean', description: 'None at all.' },
    types: {
      type: 'array',
      minItems: 1,
      description: 'Only these, or what extends them.',
      items: typeReference('A type.'),
    },
  },
});

const atomicTexts: JsonObject = { ...textList, 'x-kubernetes-list-type': 'atomic' };

const policyRules = (description: string): JsonObject => ({
  type: 'array',
  description,
  items: {
    type: 'object',
    required: ['verbs'],
    properties: {
      apiGroups: atomicTexts,
      nonResourceURLs: atomicTexts,
      resourceNames: atomicTexts,
      resources: atomicTexts,
      verbs: atomicTexts,
    },
  },
});

export const workspaceTypeSchema: JsonObject = {
  ...kcpRoot(
    {
      type: 'object',
      description: 'What workspaces of this type begin with, and where they may stand.',
      properties: {
        initializer: {
          type: 'boolean',
          description: 'Workspaces wait for a controller of this type to initialize them.',
        },
        terminator: { type: 'boolean', description: 'Deleted workspaces wait for a controller of this type.' },
        extend: {
          type: 'object',
          description: 'Types whose rules hold here too.',
          properties: { with: { type: 'array', items: typeReference('A type that is extended.') } },
        },
        additionalWorkspaceLabels: {
          type: 'object',
          description: 'Labels that workspaces of this type get.',
          additionalProperties: text,
        },
        defaultChildWorkspaceType: {
          ...typeReference('The type of workspaces created inside one of this type without naming a type.'),
          default: { name: 'universal', path: 'root' },
        },
        limitAllowedChildren: limit('Types of workspaces that may be created inside.'),
        limitAllowedParents: limit('Types of workspaces that one of this type may be created in.'),
        defaultAPIBindings: {
          type: 'array',
          description: 'Exports that are bound in every new workspace.',
          items: {
            type: 'object',
            required: ['export'],
            properties: { export: text, path: { type: 'string', pattern: pathPattern } },
          },
        },
        defaultAPIBindingLifecycle: {
          type: 'string',
          enum: ['InitializeOnly', 'Maintain'],
          description: 'Whether default bindings are looked after later on.',
        },
        authenticationConfigurations: {
          type: 'array',
          description: 'Who else may be authenticated in workspaces of this type.',
          items: { type: 'object', required: ['name'], properties: { name: text } },
        },
        initializerPermissions: policyRules('What the controller may do in a workspace it initializes.'),
        terminatorPermissions: policyRules('What the controller may do in a workspace it tears down.'),
      },
    },
    {
      type: 'object',
      properties: {
        conditions,
        virtualWorkspaces: {
          type: 'array',
          description: 'Where the controllers of this type find their workspaces, shard by shard.',
          items: {
            type: 'object',
            required: ['url'],
            properties: { url: nonEmpty, type: { type: 'string', enum: ['initializing', 'terminating'] } },
          },
        },
      },
    },
    {
      type: 'object',
      properties: {
        name: {
          type: 'string',
          minLength: 1,
          maxLength: 63,
          pattern: workspaceNamePattern,
          not: { enum: ['system', 'any'] },
        },
      },
    },
  ),
  description: 'A kind of workspace: what it starts with, who may create it and where.',
};
