import type { OptionTable } from '../options/option-table.ts';

/** Logging flags of every server. */
export const loggingOptionTable = {
  v: {
    type: 'number',
    default: 2,
    min: 0,
    max: 10,
    short: 'v',
    description: 'Log level verbosity; 4 and above include debug messages.',
  },
  'logging-format': {
    type: 'text',
    default: 'text',
    choices: ['text', 'json'],
    description: 'Log format.',
  },
} as const satisfies OptionTable;
