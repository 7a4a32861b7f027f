/*
 * Kinds for sharing APIs, for topology and for cached data as facts: schemas without prose,
 * columns as [name, JSON path]. The first version of a kind is the stored one.
 */
import type { JsonObject } from '@multiplane/apimachinery';
import { endpointsSchema } from './endpoint.ts';

export interface KindSpec {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly versions: readonly {
    readonly name: string;
    readonly status: boolean;
    readonly columns: readonly (readonly [name: string, jsonPath: string])[];
    readonly schema: JsonObject;
  }[];
}

const text: JsonObject = { type: 'string' };
const textMap: JsonObject = { type: 'object', additionalProperties: text };
const conditions: JsonObject = {
  type: 'array',
  items: {
    type: 'object',
    required: ['type', 'status', 'lastTransitionTime'],
    properties: {
      lastTransitionTime: { type: 'string', format: 'date-time' },
      message: text,
      reason: text,
      severity: text,
      status: text,
      type: text,
    },
  },
};
const matchExpressions: JsonObject = {
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
};
/** Which objects and subresources of a resource a claim is for: fields that kcp does not have (docs/compatibility.md). */
const claimedPart: JsonObject = {
  objects: {
    type: 'object',
    minProperties: 1,
    properties: {
      names: {
        type: 'array',
        'x-kubernetes-list-type': 'set',
        maxItems: 256,
        items: { type: 'string', minLength: 1, maxLength: 253 },
      },
      namespaces: {
        type: 'array',
        'x-kubernetes-list-type': 'set',
        maxItems: 256,
        items: { type: 'string', minLength: 1, maxLength: 63 },
      },
      fieldSelector: { type: 'string', minLength: 1, maxLength: 1024 },
      references: {
        type: 'array',
        'x-kubernetes-list-type': 'atomic',
        maxItems: 16,
        items: {
          type: 'object',
          required: ['resource', 'path'],
          properties: {
            group: text,
            resource: { type: 'string', pattern: '^[a-z][-a-z0-9]*[a-z0-9]$' },
            path: { type: 'string', minLength: 2, maxLength: 256 },
            otherNamespaces: { type: 'boolean' },
          },
        },
      },
    },
  },
  subresources: {
    type: 'array',
    'x-kubernetes-list-type': 'set',
    maxItems: 16,
    items: { type: 'string', minLength: 1, maxLength: 63 },
  },
};
/** Endpoints of an APIExport's virtual resources: a field that kcp does not have (docs/compatibility.md). */
const virtualResources: JsonObject = {
  type: 'array',
  items: {
    type: 'object',
    required: ['group', 'name', 'endpoints'],
    properties: {
      group: text,
      name: text,
      endpoints: endpointsSchema,
    },
  },
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name', 'group'],
};

/** A CachedResource and its slice, under the name `kind`; `field` refers to it. */
const cachedResourceKinds = (kind: string, field: string): readonly KindSpec[] => [
  cachedResourceKind(kind),
  cachedResourceSliceKind(kind, field),
];

function cachedResourceKind(kind: string): KindSpec {
  return {
    group: 'cache.kcp.io',
    kind,
    plural: `${kind.toLowerCase()}s`,
    versions: [
      {
        name: 'v1alpha1',
        status: true,
        columns: [
          ['Resource', '.spec.resource'],
          ['Age', '.metadata.creationTimestamp'],
        ],
        schema: {
          type: 'object',
          required: ['spec'],
          properties: {
            apiVersion: text,
            kind: text,
            metadata: { type: 'object' },
            spec: {
              type: 'object',
              properties: {
                group: {
                  type: 'string',
                  pattern: '^(|[a-z0-9]([-a-z0-9]*[a-z0-9](\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?)$',
                },
                identity: {
                  type: 'object',
                  properties: {
                    secretRef: {
                      type: 'object',
                      'x-kubernetes-map-type': 'atomic',
                      properties: { name: text, namespace: text },
                    },
                  },
                },
                // Other members are labels: see normalizedLabelSelector.
                labelSelector: {
                  type: 'object',
                  properties: { matchExpressions: matchExpressions, matchLabels: textMap },
                  'x-kubernetes-map-type': 'atomic',
                  'x-kubernetes-preserve-unknown-fields': true,
                },
                resource: { type: 'string', pattern: '^[a-z][-a-z0-9]*[a-z0-9]$' },
                version: text,
              },
              required: ['resource'],
            },
            status: {
              type: 'object',
              properties: {
                conditions: conditions,
                identityHash: text,
                phase: {
                  type: 'string',
                  enum: ['Scheduling', 'Initializing', 'Ready', 'Deleting', 'Deleted'],
                  default: 'Initializing',
                },
                resourceCounts: {
                  type: 'object',
                  properties: { cache: { type: 'integer' }, local: { type: 'integer' } },
                  required: ['cache', 'local'],
                },
              },
            },
          },
        },
      },
    ],
  };
}

function cachedResourceSliceKind(kind: string, field: string): KindSpec {
  return {
    group: 'cache.kcp.io',
    kind: `${kind}EndpointSlice`,
    plural: `${kind.toLowerCase()}endpointslices`,
    versions: [
      {
        name: 'v1alpha1',
        status: true,
        columns: [
          [kind, `.spec.${field}.name`],
          ['Age', '.metadata.creationTimestamp'],
        ],
        schema: {
          type: 'object',
          properties: {
            apiVersion: text,
            kind: text,
            metadata: { type: 'object' },
            spec: {
              type: 'object',
              properties: {
                [field]: {
                  type: 'object',
                  'x-kubernetes-validations': [
                    { rule: 'self == oldSelf', message: `${kind} reference must not be changed` },
                  ],
                  properties: {
                    name: text,
                    path: {
                      type: 'string',
                      pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(:[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
                    },
                  },
                  required: ['name'],
                },
                export: {
                  type: 'object',
                  'x-kubernetes-validations': [
                    { rule: 'self == oldSelf', message: 'APIExport reference must not be changed' },
                  ],
                  properties: {
                    name: text,
                    path: {
                      type: 'string',
                      pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(:[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
                    },
                  },
                  required: ['name'],
                },
                partition: text,
              },
              required: [field],
              'x-kubernetes-validations': [
                {
                  rule: 'has(self.export) == has(oldSelf.export)',
                  message: 'APIExport reference must not be changed',
                },
              ],
            },
            status: {
              type: 'object',
              properties: {
                conditions: conditions,
                endpoints: endpointsSchema,
                shardSelector: text,
              },
            },
          },
        },
      },
    ],
  };
}

export const kindSpecs: readonly KindSpec[] = [
  {
    group: 'tenancy.kcp.io',
    kind: 'WorkspaceAuthenticationConfiguration',
    plural: 'workspaceauthenticationconfigurations',
    versions: [
      {
        name: 'v1alpha1',
        status: false,
        columns: [],
        schema: {
          type: 'object',
          required: ['spec'],
          properties: {
            apiVersion: text,
            kind: text,
            metadata: { type: 'object' },
            spec: {
              type: 'object',
              properties: {
                jwt: {
                  type: 'array',
                  items: {
                    type: 'object',
                    properties: {
                      claimMappings: {
                        type: 'object',
                        properties: {
                          extra: {
                            type: 'array',
                            items: {
                              type: 'object',
                              properties: { key: text, valueExpression: text },
                              required: ['key', 'valueExpression'],
                            },
                          },
                          groups: {
                            type: 'object',
                            'x-kubernetes-validations': [
                              {
                                rule: 'has(self.claim) || has(self.expression)',
                                message: 'either claim or expression must be specified',
                              },
                              {
                                rule: '!(has(self.claim) && has(self.expression))',
                                message: 'claim and expression cannot both be specified',
                              },
                              {
                                rule: '!(has(self.prefix)) || has(self.claim)',
                                message: 'prefix can only be specified when claim is specified',
                              },
                            ],
                            properties: {
                              claim: { type: 'string', minLength: 1 },
                              expression: { type: 'string', minLength: 1 },
                              prefix: text,
                            },
                          },
                          uid: {
                            type: 'object',
                            'x-kubernetes-validations': [
                              {
                                rule: '!(has(self.claim) && has(self.expression))',
                                message: 'claim and expression cannot both be specified',
                              },
                            ],
                            properties: {
                              claim: { type: 'string', minLength: 1 },
                              expression: { type: 'string', minLength: 1 },
                            },
                          },
                          username: {
                            type: 'object',
                            'x-kubernetes-validations': [
                              {
                                rule: 'has(self.claim) || has(self.expression)',
                                message: 'either claim or expression must be specified',
                              },
                              {
                                rule: '!(has(self.claim) && has(self.expression))',
                                message: 'claim and expression cannot both be specified',
                              },
                              {
                                rule: '!(has(self.prefix)) || has(self.claim)',
                                message: 'prefix can only be specified when claim is specified',
                              },
                            ],
                            properties: {
                              claim: { type: 'string', minLength: 1 },
                              expression: { type: 'string', minLength: 1 },
                              prefix: text,
                            },
                          },
                        },
                      },
                      claimValidationRules: {
                        type: 'array',
                        items: {
                          type: 'object',
                          'x-kubernetes-validations': [
                            {
                              rule: 'has(self.claim) || has(self.expression)',
                              message: 'either claim or expression must be specified',
                            },
                            {
                              rule: '!(has(self.claim) && has(self.expression))',
                              message: 'claim and expression cannot both be specified',
                            },
                            {
                              rule: '(has(self.expression) && !has(self.requiredValue)) || (has(self.claim) && has(self.requiredValue))',
                              message: 'requiredValue can only be specified when claim is specified',
                            },
                            {
                              rule: '(has(self.expression) && has(self.message)) || (has(self.claim) && !has(self.message))',
                              message: 'message can only be specified when expression is specified',
                            },
                          ],
                          properties: {
                            claim: { type: 'string', minLength: 1 },
                            expression: { type: 'string', minLength: 1 },
                            message: { type: 'string', minLength: 1 },
                            requiredValue: { type: 'string', minLength: 1 },
                          },
                        },
                      },
                      issuer: {
                        type: 'object',
                        properties: {
                          audienceMatchPolicy: text,
                          audiences: { type: 'array', items: text },
                          certificateAuthority: text,
                          discoveryURL: text,
                          url: text,
                        },
                        required: ['url'],
                      },
                      userValidationRules: {
                        type: 'array',
                        items: {
                          type: 'object',
                          properties: { expression: text, message: text },
                          required: ['expression', 'message'],
                        },
                      },
                    },
                    required: ['claimMappings', 'issuer'],
                  },
                },
              },
              required: ['jwt'],
            },
          },
        },
      },
    ],
  },
  {
    group: 'apis.kcp.io',
    kind: 'APIResourceSchema',
    plural: 'apiresourceschemas',
    versions: [
      {
        name: 'v1alpha1',
        status: false,
        columns: [['Age', '.metadata.creationTimestamp']],
        schema: {
          type: 'object',
          properties: {
            apiVersion: text,
            kind: text,
            metadata: { type: 'object' },
            spec: {
              type: 'object',
              'x-kubernetes-validations': [
                {
                  rule: 'size(self.versions) == 1 || (size(self.versions) > 1 && has(self.conversion))',
                  message: 'Conversion must be specified when multiple versions exist',
                },
              ],
              properties: {
                conversion: {
                  type: 'object',
                  'x-kubernetes-validations': [
                    {
                      rule: "(self.strategy == 'None' && !has(self.webhook))  || (self.strategy == 'Webhook' && has(self.webhook))",
                      message: 'Webhook must be specified if strategy=Webhook',
                    },
                  ],
                  properties: {
                    strategy: { type: 'string', enum: ['None', 'Webhook'] },
                    webhook: {
                      type: 'object',
                      properties: {
                        clientConfig: {
                          type: 'object',
                          properties: {
                            caBundle: { type: 'string', format: 'byte' },
                            url: { type: 'string', format: 'uri' },
                          },
                        },
                        conversionReviewVersions: { type: 'array', items: text, 'x-kubernetes-list-type': 'atomic' },
                      },
                      required: ['conversionReviewVersions'],
                    },
                  },
                  required: ['strategy'],
                },
                group: text,
                nameValidation: {
                  type: 'string',
                  enum: ['DNS1123Subdomain', 'PathSegmentName'],
                  default: 'DNS1123Subdomain',
                },
                names: {
                  type: 'object',
                  properties: {
                    categories: { type: 'array', items: text, 'x-kubernetes-list-type': 'atomic' },
                    kind: text,
                    listKind: text,
                    plural: text,
                    shortNames: { type: 'array', items: text, 'x-kubernetes-list-type': 'atomic' },
                    singular: text,
                  },
                  required: ['kind', 'plural'],
                },
                scope: { type: 'string', enum: ['Cluster', 'Namespaced'] },
                versions: {
                  type: 'array',
                  items: {
                    type: 'object',
                    properties: {
                      additionalPrinterColumns: {
                        type: 'array',
                        items: {
                          type: 'object',
                          properties: {
                            description: text,
                            format: text,
                            jsonPath: text,
                            name: text,
                            priority: { type: 'integer', format: 'int32' },
                            type: text,
                          },
                          required: ['jsonPath', 'name', 'type'],
                        },
                        'x-kubernetes-list-type': 'atomic',
                      },
                      deprecated: { type: 'boolean' },
                      deprecationWarning: text,
                      name: { type: 'string', pattern: '^v[1-9][0-9]*([a-z]+[1-9][0-9]*)?$', minLength: 1 },
                      schema: {
                        type: 'object',
                        'x-kubernetes-preserve-unknown-fields': true,
                        'x-kubernetes-map-type': 'atomic',
                      },
                      selectableFields: {
                        type: 'array',
                        items: { type: 'object', properties: { jsonPath: text }, required: ['jsonPath'] },
                        'x-kubernetes-list-type': 'atomic',
                      },
                      served: { type: 'boolean', default: true },
                      storage: { type: 'boolean' },
                      subresources: {
                        type: 'object',
                        properties: {
                          scale: {
                            type: 'object',
                            properties: { labelSelectorPath: text, specReplicasPath: text, statusReplicasPath: text },
                            required: ['specReplicasPath', 'statusReplicasPath'],
                          },
                          status: { type: 'object' },
                        },
                      },
                    },
                    required: ['name', 'schema', 'served', 'storage'],
                  },
                  'x-kubernetes-list-type': 'map',
                  'x-kubernetes-list-map-keys': ['name'],
                  minItems: 1,
                },
              },
              required: ['group', 'names', 'scope', 'versions'],
            },
          },
        },
      },
    ],
  },
  {
    group: 'apis.kcp.io',
    kind: 'APIConversion',
    plural: 'apiconversions',
    versions: [
      {
        name: 'v1alpha1',
        status: false,
        columns: [['Age', '.metadata.creationTimestamp']],
        schema: {
          type: 'object',
          required: ['spec'],
          properties: {
            apiVersion: text,
            kind: text,
            metadata: { type: 'object' },
            spec: {
              type: 'object',
              properties: {
                conversions: {
                  type: 'array',
                  items: {
                    type: 'object',
                    properties: {
                      from: { type: 'string', pattern: '^v[1-9][0-9]*([a-z]+[1-9][0-9]*)?$', minLength: 1 },
                      preserve: { type: 'array', items: text },
                      rules: {
                        type: 'array',
                        items: {
                          type: 'object',
                          properties: {
                            destination: { type: 'string', minLength: 1 },
                            field: { type: 'string', minLength: 1 },
                            transformation: text,
                          },
                          required: ['destination', 'field'],
                        },
                        'x-kubernetes-list-type': 'map',
                        'x-kubernetes-list-map-keys': ['destination'],
                      },
                      to: { type: 'string', pattern: '^v[1-9][0-9]*([a-z]+[1-9][0-9]*)?$', minLength: 1 },
                    },
                    required: ['from', 'rules', 'to'],
                  },
                  'x-kubernetes-list-type': 'map',
                  'x-kubernetes-list-map-keys': ['from', 'to'],
                },
              },
              required: ['conversions'],
            },
          },
        },
      },
    ],
  },
  {
    group: 'apis.kcp.io',
    kind: 'APIExport',
    plural: 'apiexports',
    versions: [
      {
        name: 'v1alpha2',
        status: true,
        columns: [['Age', '.metadata.creationTimestamp']],
        schema: {
          type: 'object',
          properties: {
            apiVersion: text,
            kind: text,
            metadata: { type: 'object' },
            spec: {
              type: 'object',
              properties: {
                identity: {
                  type: 'object',
                  properties: {
                    secretRef: {
                      type: 'object',
                      'x-kubernetes-map-type': 'atomic',
                      properties: { name: text, namespace: text },
                    },
                  },
                },
                maximalPermissionPolicy: {
                  type: 'object',
                  oneOf: [{ required: ['local'] }],
                  properties: { local: { type: 'object' } },
                },
                permissionClaims: {
                  type: 'array',
                  items: {
                    type: 'object',
                    properties: {
                      defaultSelector: {
                        type: 'object',
                        properties: {
                          matchExpressions: matchExpressions,
                          matchLabels: textMap,
                          matchAll: { type: 'boolean' },
                        },
                        'x-kubernetes-map-type': 'atomic',
                      },
                      group: {
                        type: 'string',
                        default: '',
                        pattern: '^(|[a-z0-9]([-a-z0-9]*[a-z0-9](\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?)$',
                      },
                      identityHash: { type: 'string', default: '' },
                      resource: { type: 'string', pattern: '^[a-z][-a-z0-9]*[a-z0-9]$' },
                      verbs: { type: 'array', items: text, 'x-kubernetes-list-type': 'set', minItems: 1 },
                      ...claimedPart,
                    },
                    required: ['resource', 'verbs'],
                  },
                  'x-kubernetes-list-type': 'map',
                  'x-kubernetes-list-map-keys': ['group', 'resource'],
                },
                resources: {
                  type: 'array',
                  items: {
                    type: 'object',
                    properties: {
                      group: text,
                      name: text,
                      schema: text,
                      storage: {
                        type: 'object',
                        default: { crd: {} },
                        'x-kubernetes-validations': [
                          {
                            rule: 'has(self.crd) != has(self.virtual)',
                            message: 'Exactly one of crd or virtual must be set',
                          },
                        ],
                        oneOf: [{ required: ['crd'] }, { required: ['virtual'] }],
                        properties: {
                          crd: { type: 'object' },
                          virtual: {
                            type: 'object',
                            properties: {
                              identityHash: text,
                              reference: {
                                type: 'object',
                                'x-kubernetes-map-type': 'atomic',
                                properties: { apiGroup: text, kind: text, name: text },
                                required: ['kind', 'name'],
                              },
                            },
                            required: ['identityHash', 'reference'],
                          },
                        },
                      },
                    },
                    required: ['group', 'name', 'schema'],
                  },
                  'x-kubernetes-list-type': 'map',
                  'x-kubernetes-list-map-keys': ['name', 'group'],
                },
              },
            },
            status: {
              type: 'object',
              properties: {
                conditions: conditions,
                identityHash: text,
                virtualResources: virtualResources,
                virtualWorkspaces: {
                  type: 'array',
                  items: { type: 'object', properties: { url: { type: 'string', minLength: 1 } }, required: ['url'] },
                },
              },
            },
          },
        },
      },
      {
        name: 'v1alpha1',
        status: true,
        columns: [
          ['Age', '.metadata.creationTimestamp'],
          ['Ready', '.status.conditions[?(@.type=="VirtualWorkspaceURLsReady")].status'],
        ],
        schema: {
          type: 'object',
          properties: {
            apiVersion: text,
            kind: text,
            metadata: { type: 'object' },
            spec: {
              type: 'object',
              properties: {
                identity: {
                  type: 'object',
                  properties: {
                    secretRef: {
                      type: 'object',
                      'x-kubernetes-map-type': 'atomic',
                      properties: { name: text, namespace: text },
                    },
                  },
                },
                latestResourceSchemas: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
                maximalPermissionPolicy: {
                  type: 'object',
                  oneOf: [{ required: ['local'] }],
                  properties: { local: { type: 'object' } },
                },
                permissionClaims: {
                  type: 'array',
                  items: {
                    type: 'object',
                    'x-kubernetes-validations': [
                      {
                        rule: '(has(self.all) && self.all) != (has(self.resourceSelector) && size(self.resourceSelector) > 0)',
                        message: 'either "all" or "resourceSelector" must be set',
                      },
                    ],
                    properties: {
                      all: { type: 'boolean' },
                      group: {
                        type: 'string',
                        default: '',
                        pattern: '^(|[a-z0-9]([-a-z0-9]*[a-z0-9](\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?)$',
                      },
                      identityHash: text,
                      resource: { type: 'string', pattern: '^[a-z][-a-z0-9]*[a-z0-9]$' },
                      resourceSelector: {
                        type: 'array',
                        items: {
                          type: 'object',
                          'x-kubernetes-validations': [
                            {
                              rule: 'has(self.__namespace__) || has(self.name)',
                              message: 'at least one field must be set',
                            },
                          ],
                          properties: {
                            name: {
                              type: 'string',
                              pattern: '^([a-z0-9][-a-z0-9_.]*)?[a-z0-9]$',
                              minLength: 1,
                              maxLength: 253,
                            },
                            namespace: { type: 'string', minLength: 1 },
                          },
                        },
                      },
                    },
                    required: ['resource'],
                  },
                  'x-kubernetes-list-type': 'map',
                  'x-kubernetes-list-map-keys': ['group', 'resource'],
                },
              },
            },
            status: {
              type: 'object',
              properties: {
                conditions: conditions,
                identityHash: text,
                virtualResources: virtualResources,
                virtualWorkspaces: {
                  type: 'array',
                  items: { type: 'object', properties: { url: { type: 'string', minLength: 1 } }, required: ['url'] },
                },
              },
            },
          },
        },
      },
    ],
  },
  {
    group: 'apis.kcp.io',
    kind: 'APIBinding',
    plural: 'apibindings',
    versions: [
      {
        name: 'v1alpha2',
        status: true,
        columns: [
          ['Age', '.metadata.creationTimestamp'],
          ['Ready', '.status.conditions[?(@.type=="Ready")].status'],
        ],
        schema: {
          type: 'object',
          required: ['spec'],
          properties: {
            apiVersion: text,
            kind: text,
            metadata: { type: 'object' },
            spec: {
              type: 'object',
              properties: {
                permissionClaims: {
                  type: 'array',
                  items: {
                    type: 'object',
                    properties: {
                      defaultSelector: {
                        type: 'object',
                        properties: {
                          matchExpressions: matchExpressions,
                          matchLabels: textMap,
                          matchAll: { type: 'boolean' },
                        },
                        'x-kubernetes-map-type': 'atomic',
                      },
                      group: {
                        type: 'string',
                        default: '',
                        pattern: '^(|[a-z0-9]([-a-z0-9]*[a-z0-9](\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?)$',
                      },
                      identityHash: { type: 'string', default: '' },
                      resource: { type: 'string', pattern: '^[a-z][-a-z0-9]*[a-z0-9]$' },
                      selector: {
                        type: 'object',
                        properties: {
                          matchExpressions: matchExpressions,
                          matchLabels: textMap,
                          matchAll: { type: 'boolean' },
                        },
                        'x-kubernetes-map-type': 'atomic',
                      },
                      state: { type: 'string', enum: ['Accepted', 'Rejected'] },
                      verbs: { type: 'array', items: text, 'x-kubernetes-list-type': 'set', minItems: 1 },
                      ...claimedPart,
                    },
                    required: ['resource', 'selector', 'state', 'verbs'],
                  },
                  'x-kubernetes-list-type': 'map',
                  'x-kubernetes-list-map-keys': ['group', 'resource', 'identityHash'],
                },
                reference: {
                  type: 'object',
                  'x-kubernetes-validations': [
                    { rule: 'self == oldSelf', message: 'APIExport reference must not be changed' },
                  ],
                  properties: {
                    export: {
                      type: 'object',
                      properties: {
                        name: text,
                        path: {
                          type: 'string',
                          pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(:[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
                        },
                      },
                      required: ['name'],
                    },
                  },
                },
              },
              required: ['reference'],
            },
            status: {
              type: 'object',
              properties: {
                apiExportClusterName: text,
                appliedPermissionClaims: {
                  type: 'array',
                  items: {
                    type: 'object',
                    properties: {
                      defaultSelector: {
                        type: 'object',
                        properties: {
                          matchExpressions: matchExpressions,
                          matchLabels: textMap,
                          matchAll: { type: 'boolean' },
                        },
                        'x-kubernetes-map-type': 'atomic',
                      },
                      group: {
                        type: 'string',
                        default: '',
                        pattern: '^(|[a-z0-9]([-a-z0-9]*[a-z0-9](\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?)$',
                      },
                      identityHash: { type: 'string', default: '' },
                      resource: { type: 'string', pattern: '^[a-z][-a-z0-9]*[a-z0-9]$' },
                      selector: {
                        type: 'object',
                        properties: {
                          matchExpressions: matchExpressions,
                          matchLabels: textMap,
                          matchAll: { type: 'boolean' },
                        },
                        'x-kubernetes-map-type': 'atomic',
                      },
                      verbs: { type: 'array', items: text, 'x-kubernetes-list-type': 'set', minItems: 1 },
                      ...claimedPart,
                    },
                    required: ['resource', 'selector', 'verbs'],
                  },
                  'x-kubernetes-list-type': 'map',
                  'x-kubernetes-list-map-keys': ['group', 'resource', 'identityHash'],
                },
                boundResources: {
                  type: 'array',
                  items: {
                    type: 'object',
                    properties: {
                      group: text,
                      resource: text,
                      schema: {
                        type: 'object',
                        properties: {
                          UID: { type: 'string', minLength: 1 },
                          identityHash: { type: 'string', minLength: 1 },
                          name: { type: 'string', minLength: 1 },
                        },
                        required: ['UID', 'identityHash', 'name'],
                      },
                      storageVersions: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
                    },
                    required: ['group', 'resource', 'schema'],
                  },
                  'x-kubernetes-list-type': 'map',
                  'x-kubernetes-list-map-keys': ['group', 'resource'],
                },
                conditions: conditions,
                exportPermissionClaims: {
                  type: 'array',
                  items: {
                    type: 'object',
                    properties: {
                      defaultSelector: {
                        type: 'object',
                        properties: {
                          matchExpressions: matchExpressions,
                          matchLabels: textMap,
                          matchAll: { type: 'boolean' },
                        },
                        'x-kubernetes-map-type': 'atomic',
                      },
                      group: {
                        type: 'string',
                        default: '',
                        pattern: '^(|[a-z0-9]([-a-z0-9]*[a-z0-9](\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?)$',
                      },
                      identityHash: { type: 'string', default: '' },
                      resource: { type: 'string', pattern: '^[a-z][-a-z0-9]*[a-z0-9]$' },
                      verbs: { type: 'array', items: text, 'x-kubernetes-list-type': 'set', minItems: 1 },
                      ...claimedPart,
                    },
                    required: ['resource', 'verbs'],
                  },
                },
                phase: { type: 'string', enum: ['', 'Binding', 'Bound'] },
              },
            },
          },
        },
      },
      {
        name: 'v1alpha1',
        status: true,
        columns: [
          ['Age', '.metadata.creationTimestamp'],
          ['Ready', '.status.conditions[?(@.type=="Ready")].status'],
        ],
        schema: {
          type: 'object',
          required: ['spec'],
          properties: {
            apiVersion: text,
            kind: text,
            metadata: { type: 'object' },
            spec: {
              type: 'object',
              properties: {
                permissionClaims: {
                  type: 'array',
                  items: {
                    type: 'object',
                    'x-kubernetes-validations': [
                      {
                        rule: '(has(self.all) && self.all) != (has(self.resourceSelector) && size(self.resourceSelector) > 0)',
                        message: 'either "all" or "resourceSelector" must be set',
                      },
                    ],
                    properties: {
                      all: { type: 'boolean' },
                      group: {
                        type: 'string',
                        pattern: '^(|[a-z0-9]([-a-z0-9]*[a-z0-9](\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?)$',
                      },
                      identityHash: text,
                      resource: { type: 'string', pattern: '^[a-z][-a-z0-9]*[a-z0-9]$' },
                      resourceSelector: {
                        type: 'array',
                        items: {
                          type: 'object',
                          'x-kubernetes-validations': [
                            {
                              rule: 'has(self.__namespace__) || has(self.name)',
                              message: 'at least one field must be set',
                            },
                          ],
                          properties: {
                            name: {
                              type: 'string',
                              pattern: '^([a-z0-9][-a-z0-9_.]*)?[a-z0-9]$',
                              minLength: 1,
                              maxLength: 253,
                            },
                            namespace: { type: 'string', minLength: 1 },
                          },
                        },
                      },
                      state: { type: 'string', enum: ['Accepted', 'Rejected'] },
                    },
                    required: ['resource', 'state'],
                  },
                },
                reference: {
                  type: 'object',
                  'x-kubernetes-validations': [
                    { rule: 'self == oldSelf', message: 'APIExport reference must not be changed' },
                  ],
                  oneOf: [{ required: ['export'] }],
                  properties: {
                    export: {
                      type: 'object',
                      properties: {
                        name: text,
                        path: {
                          type: 'string',
                          pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(:[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
                        },
                      },
                      required: ['name'],
                    },
                  },
                },
              },
              required: ['reference'],
            },
            status: {
              type: 'object',
              properties: {
                apiExportClusterName: text,
                appliedPermissionClaims: {
                  type: 'array',
                  items: {
                    type: 'object',
                    'x-kubernetes-validations': [
                      {
                        rule: '(has(self.all) && self.all) != (has(self.resourceSelector) && size(self.resourceSelector) > 0)',
                        message: 'either "all" or "resourceSelector" must be set',
                      },
                    ],
                    properties: {
                      all: { type: 'boolean' },
                      group: {
                        type: 'string',
                        pattern: '^(|[a-z0-9]([-a-z0-9]*[a-z0-9](\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?)$',
                      },
                      identityHash: text,
                      resource: { type: 'string', pattern: '^[a-z][-a-z0-9]*[a-z0-9]$' },
                      resourceSelector: {
                        type: 'array',
                        items: {
                          type: 'object',
                          'x-kubernetes-validations': [
                            {
                              rule: 'has(self.__namespace__) || has(self.name)',
                              message: 'at least one field must be set',
                            },
                          ],
                          properties: {
                            name: {
                              type: 'string',
                              pattern: '^([a-z0-9][-a-z0-9_.]*)?[a-z0-9]$',
                              minLength: 1,
                              maxLength: 253,
                            },
                            namespace: { type: 'string', minLength: 1 },
                          },
                        },
                      },
                    },
                    required: ['resource'],
                  },
                },
                boundResources: {
                  type: 'array',
                  items: {
                    type: 'object',
                    properties: {
                      group: text,
                      resource: text,
                      schema: {
                        type: 'object',
                        properties: {
                          UID: { type: 'string', minLength: 1 },
                          identityHash: { type: 'string', minLength: 1 },
                          name: { type: 'string', minLength: 1 },
                        },
                        required: ['UID', 'identityHash', 'name'],
                      },
                      storageVersions: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
                    },
                    required: ['group', 'resource', 'schema'],
                  },
                  'x-kubernetes-list-type': 'map',
                  'x-kubernetes-list-map-keys': ['group', 'resource'],
                },
                conditions: conditions,
                exportPermissionClaims: {
                  type: 'array',
                  items: {
                    type: 'object',
                    'x-kubernetes-validations': [
                      {
                        rule: '(has(self.all) && self.all) != (has(self.resourceSelector) && size(self.resourceSelector) > 0)',
                        message: 'either "all" or "resourceSelector" must be set',
                      },
                    ],
                    properties: {
                      all: { type: 'boolean' },
                      group: {
                        type: 'string',
                        pattern: '^(|[a-z0-9]([-a-z0-9]*[a-z0-9](\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?)$',
                      },
                      identityHash: text,
                      resource: { type: 'string', pattern: '^[a-z][-a-z0-9]*[a-z0-9]$' },
                      resourceSelector: {
                        type: 'array',
                        items: {
                          type: 'object',
                          'x-kubernetes-validations': [
                            {
                              rule: 'has(self.__namespace__) || has(self.name)',
                              message: 'at least one field must be set',
                            },
                          ],
                          properties: {
                            name: {
                              type: 'string',
                              pattern: '^([a-z0-9][-a-z0-9_.]*)?[a-z0-9]$',
                              minLength: 1,
                              maxLength: 253,
                            },
                            namespace: { type: 'string', minLength: 1 },
                          },
                        },
                      },
                    },
                    required: ['resource'],
                  },
                },
                phase: { type: 'string', enum: ['', 'Binding', 'Bound'] },
              },
            },
          },
        },
      },
    ],
  },
  {
    group: 'apis.kcp.io',
    kind: 'APIExportEndpointSlice',
    plural: 'apiexportendpointslices',
    versions: [
      {
        name: 'v1alpha1',
        status: true,
        columns: [
          ['Export', '.spec.export.name'],
          ['Partition', '.spec.partition'],
          ['Age', '.metadata.creationTimestamp'],
        ],
        schema: {
          type: 'object',
          properties: {
            apiVersion: text,
            kind: text,
            metadata: { type: 'object' },
            spec: {
              type: 'object',
              properties: {
                export: {
                  type: 'object',
                  'x-kubernetes-validations': [
                    { rule: 'self == oldSelf', message: 'APIExport reference must not be changed' },
                  ],
                  properties: {
                    name: text,
                    path: {
                      type: 'string',
                      pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(:[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
                    },
                  },
                  required: ['name'],
                },
                partition: text,
              },
              required: ['export'],
            },
            status: {
              type: 'object',
              properties: {
                conditions: conditions,
                endpoints: endpointsSchema,
                shardSelector: text,
              },
            },
          },
        },
      },
    ],
  },
  {
    group: 'topology.kcp.io',
    kind: 'Partition',
    plural: 'partitions',
    versions: [
      {
        name: 'v1alpha1',
        status: false,
        columns: [
          ['Owner', '.metadata.ownerReferences[*].name'],
          ['Age', '.metadata.creationTimestamp'],
        ],
        schema: {
          type: 'object',
          required: ['spec'],
          properties: {
            apiVersion: text,
            kind: text,
            metadata: { type: 'object' },
            spec: {
              type: 'object',
              properties: {
                selector: {
                  type: 'object',
                  properties: { matchExpressions: matchExpressions, matchLabels: textMap },
                  'x-kubernetes-map-type': 'atomic',
                },
              },
            },
          },
        },
      },
    ],
  },
  {
    group: 'topology.kcp.io',
    kind: 'PartitionSet',
    plural: 'partitionsets',
    versions: [
      {
        name: 'v1alpha1',
        status: true,
        columns: [
          ['Count', '.status.count'],
          ['Age', '.metadata.creationTimestamp'],
        ],
        schema: {
          type: 'object',
          required: ['spec'],
          properties: {
            apiVersion: text,
            kind: text,
            metadata: { type: 'object' },
            spec: {
              type: 'object',
              properties: {
                dimensions: { type: 'array', items: text },
                shardSelector: {
                  type: 'object',
                  'x-kubernetes-map-type': 'atomic',
                  properties: {
                    matchExpressions: {
                      type: 'array',
                      items: {
                        type: 'object',
                        'x-kubernetes-validations': [
                          {
                            rule: 'self.operator in ["In", "NotIn"] ? size(self.values) > 0 : (self.operator in ["Exists", "DoesNotExist"] ? !has(self.values) : true)',
                            message:
                              'There should be at least one value for In and NotIn operators. There should not be any value for Exists and DoesNotExist operators.',
                          },
                        ],
                        properties: {
                          key: {
                            type: 'string',
                            maxLength: 317,
                            'x-kubernetes-validations': [
                              {
                                rule: 'self.contains("/") ? self.split("/", 2)[0].matches("^[a-z0-9]([-a-z0-9]{0,251}[a-z0-9])?$") && self.split("/", 2)[1].matches("^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$") : self.matches("^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$")',
                                message:
                                  'Label key prefixes are optional and limited to 253 characters. They should match "^[a-z0-9]([-a-z0-9]{0,251}[a-z0-9])?$". Names are limited to 63 characters and should match "^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$". "/" is used as separator.',
                              },
                            ],
                          },
                          operator: { type: 'string', enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'] },
                          values: {
                            type: 'array',
                            items: {
                              type: 'string',
                              pattern: '^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$',
                              maxLength: 63,
                            },
                            'x-kubernetes-list-type': 'atomic',
                          },
                        },
                        required: ['key', 'operator'],
                      },
                      'x-kubernetes-list-type': 'atomic',
                      maxItems: 10,
                    },
                    matchLabels: {
                      type: 'object',
                      additionalProperties: { type: 'string', maxLength: 380 },
                      maxProperties: 10,
                      'x-kubernetes-validations': [
                        {
                          rule: 'self.all(k, k.contains("/") ? k.split("/", 2)[0].matches("^[a-z0-9]([-a-z0-9]{0,251}[a-z0-9])?$") && k.split("/", 2)[1].matches("^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$") : k.matches("^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"))',
                          message:
                            'Label key prefixes are optional and limited to 253 characters. They should match "^[a-z0-9]([-a-z0-9]{0,251}[a-z0-9])?$". Names are limited to 63 characters and should match "^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$". "/" is used as separator.',
                        },
                        {
                          rule: 'self.all(k, self[k].matches("^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"))',
                          message:
                            'Label values are limited to 63 characters and should match "^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$".',
                        },
                      ],
                    },
                  },
                },
              },
            },
            status: { type: 'object', properties: { conditions: conditions, count: { type: 'integer' } } },
          },
        },
      },
    ],
  },
  ...cachedResourceKinds('CachedResource', 'cachedResource'),
  ...cachedResourceKinds('ClusterCachedResource', 'clusterCachedResource'),
];
