import type { OptionTable } from '@multiplane/component-base';

/** Flags of the audit log (K9.3; names: C12.8). */
export const auditOptionTable = {
  'audit-policy-file': {
    type: 'text',
    description: 'Which requests are told about and how much (audit.k8s.io/v1 Policy).',
  },
  'audit-log-path': { type: 'text', description: 'File of the audit log; - is standard output.' },
  'audit-log-format': {
    type: 'text',
    default: 'json',
    choices: ['json', 'legacy'],
    description: 'Form of its lines.',
  },
  'audit-log-mode': {
    type: 'text',
    default: 'blocking',
    choices: ['batch', 'blocking', 'blocking-strict'],
    description: 'Whether requests wait for the log, and fail without it.',
  },
  'audit-log-maxsize': {
    type: 'number',
    default: 0,
    min: 0,
    description: 'Megabytes after which a new file begins; 0: never.',
  },
  'audit-log-maxbackup': { type: 'number', default: 0, min: 0, description: 'Old files that are kept; 0: all.' },
  'audit-log-maxage': { type: 'number', default: 0, min: 0, description: 'Days that old files are kept; 0: for ever.' },
  'audit-webhook-config-file': { type: 'text', description: 'Kubeconfig of the audit webhook.' },
  'audit-webhook-mode': {
    type: 'text',
    default: 'batch',
    choices: ['batch', 'blocking', 'blocking-strict'],
    description: 'Whether requests wait for the webhook, and fail without it.',
  },
  'audit-webhook-initial-backoff': {
    type: 'duration',
    default: '10s',
    description: 'First pause after a failed call.',
  },
  'audit-webhook-batch-buffer-size': {
    type: 'number',
    default: 10000,
    min: 1,
    description: 'Events that wait at most.',
  },
  'audit-webhook-batch-max-size': { type: 'number', default: 400, min: 1, description: 'Events of one call.' },
  'audit-webhook-batch-max-wait': { type: 'duration', default: '30s', description: 'Longest wait for a full call.' },
} as const satisfies OptionTable;
