import type { OptionTable } from '@multiplane/component-base';

export const admissionOptionTable = {
  'enable-admission-plugins': {
    type: 'list',
    description: 'Admission plugins to run besides those that run anyway.',
  },
  'disable-admission-plugins': { type: 'list', description: 'Admission plugins not to run.' },
} as const satisfies OptionTable;
