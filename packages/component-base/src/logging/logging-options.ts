import type { OptionTable } from '../options/option-table.ts';

/** Flags of every server about its log. */
export const loggingOptionTable = {
  v: {
    type: 'number',
    default: 2,
    min: 0,
    max: 10,
    short: 'v',
    description: 'How talkative the log is; 4 and above include debugging.',
  },
  'logging-format': {
    type: 'text',
    default: 'text',
    choices: ['text', 'json'],
    description: 'Lines for people or for machines.',
  },
} as const satisfies OptionTable;
