import type { Json, JsonObject } from '@multiplane/apimachinery';

/** One URL of an endpoint slice (kcp after v0.32: core/v1alpha1 Endpoint). */
export interface Endpoint {
  url: string;
  /** The shards that it serves. Absent: the URL belongs to the shard below whose virtual workspace URL it is. */
  shards?: {
    matchAll?: boolean;
    /** A metav1.LabelSelector over the labels of Shards. */
    selector?: Json;
  };
}

const text: JsonObject = { type: 'string' };

/** The schema of {@link Endpoint}, for every kind with the contract of endpoint slices. */
export const endpointSchema: JsonObject = {
  type: 'object',
  required: ['url'],
  properties: {
    url: { type: 'string', minLength: 1 },
    shards: {
      type: 'object',
      properties: {
        matchAll: { type: 'boolean' },
        selector: {
          type: 'object',
          'x-kubernetes-map-type': 'atomic',
          properties: {
            matchExpressions: {
              type: 'array',
              'x-kubernetes-list-type': 'atomic',
              items: {
                type: 'object',
                required: ['key', 'operator'],
                properties: {
                  key: text,
                  operator: text,
                  values: { type: 'array', 'x-kubernetes-list-type': 'atomic', items: text },
                },
              },
            },
            matchLabels: { type: 'object', additionalProperties: text },
          },
        },
      },
      'x-kubernetes-validations': [
        {
          rule: '!(has(self.matchAll) && self.matchAll && has(self.selector))',
          message: 'matchAll and selector are mutually exclusive',
        },
      ],
    },
  },
};

export const endpointsSchema: JsonObject = {
  type: 'array',
  items: endpointSchema,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['url'],
};
