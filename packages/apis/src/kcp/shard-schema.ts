import type { JsonObject } from '@multiplane/apimachinery';
import { conditions, kcpRoot } from './workspace-schema.ts';

/*
 * Structural schema of Shard.
 */

const url = (description: string): JsonObject => ({ type: 'string', format: 'uri', minLength: 1, description });

export const shardSchema: JsonObject = {
  ...kcpRoot(
    {
      type: 'object',
      required: ['baseURL'],
      properties: {
        baseURL: url('Where proxies and other shards reach it.'),
        externalURL: url('Where clients reach its workspaces; the base URL unless given.'),
        virtualWorkspaceURL: url('Where its virtual workspaces are; the base URL unless given.'),
      },
    },
    {
      type: 'object',
      properties: {
        capacity: {
          type: 'object',
          description: 'What it has of each resource.',
          additionalProperties: {
            'x-kubernetes-int-or-string': true,
            anyOf: [{ type: 'integer' }, { type: 'string' }],
            pattern: String.raw`^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`,
          },
        },
        conditions,
      },
    },
    { type: 'object' },
  ),
  description: 'A server that holds logical clusters.',
};
