import type { OptionTable } from '@multiplane/component-base';

/** Flags of tokens that others make: OpenID Connect, and a webhook that knows them (K7.2; names: C12.8). */
export const tokenOptionTable = {
  'authentication-config': {
    type: 'text',
    description: 'File with the issuers of JSON web tokens (AuthenticationConfiguration); read again when it changes.',
  },
  'oidc-issuer-url': { type: 'text', description: 'Issuer of JSON web tokens, by https.' },
  'oidc-client-id': { type: 'text', description: 'Audience that its tokens must be for.' },
  'oidc-ca-file': { type: 'text', description: 'CA bundle of the issuer; default: the usual authorities.' },
  'oidc-username-claim': { type: 'text', default: 'sub', description: 'Claim with the user name.' },
  'oidc-username-prefix': {
    type: 'text',
    description: 'What is put before user names; default: the issuer and #, nothing for the claim email; -: nothing.',
  },
  'oidc-groups-claim': { type: 'text', description: 'Claim with the groups.' },
  'oidc-groups-prefix': { type: 'text', description: 'What is put before groups.' },
  'oidc-signing-algs': {
    type: 'list',
    default: ['RS256'],
    description: 'Algorithms that tokens of the issuer may be signed with.',
  },
  'oidc-required-claim': { type: 'map', description: 'Claims that its tokens must have, with their values.' },
  'authentication-token-webhook-config-file': {
    type: 'text',
    description: 'Kubeconfig of a webhook that is asked about tokens which nobody else knows.',
  },
  'authentication-token-webhook-version': {
    type: 'text',
    default: 'v1beta1',
    choices: ['v1', 'v1beta1'],
    description: 'Version of the TokenReview it is sent.',
  },
  'authentication-token-webhook-cache-ttl': {
    type: 'duration',
    default: '2m',
    description: 'How long its answers are remembered.',
  },
} as const satisfies OptionTable;
