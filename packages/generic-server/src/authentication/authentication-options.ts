import type { OptionTable } from '@multiplane/component-base';

/** The flag of static tokens. */
export const tokenFileOptionTable = {
  'token-auth-file': { type: 'text', description: 'File of static tokens: token,user,uid,"group1,group2".' },
} as const satisfies OptionTable;

/** The flag of accepted token audiences. */
export const audienceOptionTable = {
  'api-audiences': {
    type: 'list',
    description: 'Accepted token audiences; default: the service account issuers.',
  },
} as const satisfies OptionTable;

/** The flag of CA bundles for client certificates. `defaultText`: what applies if the flag is absent. */
export const clientCaOptions = (defaultText?: string) =>
  ({
    'client-ca-file': {
      type: 'text',
      description: `CA bundle for client certificates${defaultText === undefined ? '' : `; ${defaultText}`}.`,
    },
  }) as const satisfies OptionTable;

/** The flag of service account token issuers. `note` qualifies the list. */
export const serviceAccountIssuerOptions = (note?: string) =>
  ({
    'service-account-issuer': {
      type: 'list',
      default: ['https://kcp.default.svc'],
      description: `Issuers of service account tokens${note === undefined ? '' : `; ${note}`}.`,
    },
  }) as const satisfies OptionTable;
