import type { OptionTable } from '@multiplane/component-base';

export const admissionOptionTable = {
  'enable-admission-plugins': {
    type: 'list',
    description: 'Admission plugins to enable in addition to the default ones.',
  },
  'disable-admission-plugins': { type: 'list', description: 'Admission plugins to disable.' },
} as const satisfies OptionTable;
