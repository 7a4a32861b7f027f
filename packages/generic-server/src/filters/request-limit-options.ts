import type { OptionTable } from '@multiplane/component-base';

/** Flags that limit the number and duration of requests. */
export const requestLimitOptionTable = {
  'request-timeout': {
    type: 'duration',
    default: '60s',
    min: '1s',
    max: '24h',
    description: 'Maximum duration of requests that are not long-running.',
  },
  'max-requests-inflight': {
    type: 'number',
    default: 400,
    min: 10,
    max: 100_000,
    description: 'Maximum number of concurrent read requests.',
  },
  'max-mutating-requests-inflight': {
    type: 'number',
    default: 200,
    min: 10,
    max: 100_000,
    description: 'Maximum number of concurrent mutating requests.',
  },
} as const satisfies OptionTable;
