import type { OptionTable } from '@multiplane/component-base';

/** Flags of how much is done at the same time, and for how long. */
export const requestLimitOptionTable = {
  'request-timeout': {
    type: 'duration',
    default: '60s',
    hidden: true,
    description: 'Longest time a request may take that is not a watch.',
  },
  'max-requests-inflight': {
    type: 'number',
    default: 400,
    min: 0,
    hidden: true,
    description: 'Reading requests at the same time.',
  },
  'max-mutating-requests-inflight': {
    type: 'number',
    default: 200,
    min: 0,
    hidden: true,
    description: 'Writing requests at the same time.',
  },
} as const satisfies OptionTable;
