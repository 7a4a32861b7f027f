import type { OptionTable } from '@multiplane/component-base';

/** Flags of auditing, with the names and defaults of kube-apiserver. */
export const auditOptionTable = {
  'audit-policy-file': {
    type: 'text',
    description: 'Audit policy: which requests are audited, and at which level (audit.k8s.io/v1 Policy).',
  },
  'audit-log-path': { type: 'text', description: 'File of the audit log; -: standard output.' },
  'audit-log-format': {
    type: 'text',
    default: 'json',
    choices: ['json', 'legacy'],
    description: 'Format of audit log lines.',
  },
  'audit-log-mode': {
    type: 'text',
    default: 'blocking',
    choices: ['batch', 'blocking', 'blocking-strict'],
    description: 'Whether requests wait for the log (blocking), and fail if it fails (blocking-strict).',
  },
  'audit-log-maxsize': {
    type: 'number',
    default: 0,
    min: 0,
    max: 1_000_000,
    description: 'Size in megabytes at which the log is rotated; 0: never.',
  },
  'audit-log-maxbackup': {
    type: 'number',
    default: 0,
    min: 0,
    max: 10_000,
    description: 'Number of rotated files to keep; 0: all.',
  },
  'audit-log-maxage': {
    type: 'number',
    default: 0,
    min: 0,
    max: 36_500,
    description: 'Days to keep rotated files; 0: no limit.',
  },
  'audit-webhook-config-file': { type: 'text', description: 'Kubeconfig of the audit webhook.' },
  'audit-webhook-mode': {
    type: 'text',
    default: 'batch',
    choices: ['batch', 'blocking', 'blocking-strict'],
    description: 'Whether requests wait for the webhook (blocking), and fail if it fails (blocking-strict).',
  },
  'audit-webhook-initial-backoff': {
    type: 'duration',
    default: '10s',
    min: '1ms',
    max: '1h',
    description: 'Delay before the first retry of a failed call.',
  },
  'audit-webhook-batch-buffer-size': {
    type: 'number',
    default: 10000,
    min: 1,
    max: 1_000_000,
    description: 'Maximum number of buffered events.',
  },
  'audit-webhook-batch-max-size': {
    type: 'number',
    default: 400,
    min: 1,
    max: 100_000,
    description: 'Maximum number of events per call.',
  },
  'audit-webhook-batch-max-wait': {
    type: 'duration',
    default: '30s',
    min: '1ms',
    max: '1h',
    description: 'Maximum time before a partial batch is sent.',
  },
} as const satisfies OptionTable;
