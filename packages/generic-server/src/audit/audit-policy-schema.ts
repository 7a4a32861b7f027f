import type { ConfigurationSchema } from '@multiplane/component-base';

export const auditLevels = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
export type AuditLevel = (typeof auditLevels)[number];
export const auditStages = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;
export type AuditStage = (typeof auditStages)[number];

/** The file format of a Policy of `audit.k8s.io/v1`. */
export interface AuditPolicyDocument {
  readonly rules?: readonly AuditPolicyRule[];
  readonly omitStages?: readonly AuditStage[];
  readonly omitManagedFields?: boolean;
}

export interface AuditPolicyRule {
  readonly level: AuditLevel;
  readonly users?: readonly string[];
  readonly userGroups?: readonly string[];
  readonly verbs?: readonly string[];
  readonly resources?: readonly AuditGroupResources[];
  readonly namespaces?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly omitStages?: readonly AuditStage[];
  readonly omitManagedFields?: boolean;
}

export interface AuditGroupResources {
  readonly group?: string;
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

const strings = { type: 'array', items: { type: 'string' } };
const omitStages = { type: 'array', items: { enum: auditStages } };
const omitManagedFields = { type: 'boolean' };

/** Structure of `--audit-policy-file`. Strict, as kube-apiserver decodes it: an ignored typo would widen a rule. */
export const auditPolicySchema: ConfigurationSchema = {
  type: 'object',
  description: 'an audit policy',
  additionalProperties: false,
  required: ['apiVersion', 'kind'],
  properties: {
    apiVersion: { const: 'audit.k8s.io/v1' },
    kind: { const: 'Policy' },
    metadata: { type: 'object' },
    omitStages,
    omitManagedFields,
    rules: {
      type: 'array',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['level'],
        properties: {
          level: { enum: auditLevels },
          users: strings,
          userGroups: strings,
          verbs: strings,
          namespaces: strings,
          nonResourceURLs: strings,
          omitStages,
          omitManagedFields,
          resources: {
            type: 'array',
            items: {
              type: 'object',
              additionalProperties: false,
              properties: { group: { type: 'string' }, resources: strings, resourceNames: strings },
            },
          },
        },
      },
    },
  },
};
