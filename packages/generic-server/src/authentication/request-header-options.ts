import type { OptionTable } from '@multiplane/component-base';

/** Flags for proxies that assert the identity of users in headers. Names and defaults as in kube-apiserver. */
export const requestHeaderOptionTable = {
  'requestheader-client-ca-file': {
    type: 'text',
    description: 'CA bundle of proxies that assert the identity of users in headers.',
  },
  'requestheader-allowed-names': {
    type: 'list',
    description: 'Common names of such proxies; empty: every certificate signed by the bundle.',
  },
  'requestheader-username-headers': {
    type: 'list',
    default: ['X-Remote-User'],
    description: 'Headers with the user name.',
  },
  'requestheader-group-headers': {
    type: 'list',
    default: ['X-Remote-Group'],
    description: 'Headers with groups, one group per header.',
  },
  'requestheader-uid-headers': {
    type: 'list',
    default: ['X-Remote-Uid'],
    description: 'Headers with the uid.',
  },
  'requestheader-extra-headers-prefix': {
    type: 'list',
    default: ['X-Remote-Extra-'],
    description: 'Prefixes of headers with extra fields of the user.',
  },
} as const satisfies OptionTable;
