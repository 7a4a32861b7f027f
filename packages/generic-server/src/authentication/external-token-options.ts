import type { OptionTable } from '@multiplane/component-base';

/** Flags for tokens of external issuers: OpenID Connect, and a token webhook. Names as in kube-apiserver. */
export const externalTokenOptionTable = {
  'authentication-config': {
    type: 'text',
    description: 'File with the issuers of JSON web tokens (AuthenticationConfiguration); reloaded when it changes.',
  },
  'oidc-issuer-url': { type: 'text', description: 'URL of the OpenID Connect issuer (https).' },
  'oidc-client-id': { type: 'text', description: 'Required audience of its tokens.' },
  'oidc-ca-file': {
    type: 'text',
    description: 'CA bundle of the issuer; default: the root certificates of the system.',
  },
  'oidc-username-claim': { type: 'text', default: 'sub', description: 'Claim with the user name.' },
  'oidc-username-prefix': {
    type: 'text',
    description: 'Prefix of user names; default: the issuer and #, no prefix for the claim email; -: no prefix.',
  },
  'oidc-groups-claim': { type: 'text', description: 'Claim with the groups.' },
  'oidc-groups-prefix': { type: 'text', description: 'Prefix of groups.' },
  'oidc-signing-algs': {
    type: 'list',
    default: ['RS256'],
    description: 'Accepted signature algorithms.',
  },
  'oidc-required-claim': { type: 'map', description: 'Required claims with their values, as in a=b,c=d.' },
  'authentication-token-webhook-config-file': {
    type: 'text',
    description: 'Kubeconfig of a webhook that reviews tokens unknown to all other authenticators.',
  },
  'authentication-token-webhook-version': {
    type: 'text',
    default: 'v1beta1',
    choices: ['v1', 'v1beta1'],
    description: 'Version of the TokenReview objects that the webhook receives.',
  },
  'authentication-token-webhook-cache-ttl': {
    type: 'duration',
    default: '2m',
    description: 'How long its responses are cached.',
  },
} as const satisfies OptionTable;
