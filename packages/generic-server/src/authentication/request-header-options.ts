import type { OptionTable } from '@multiplane/component-base';

/** Whose word is taken for who makes a request (C11.5, K7.2). */
export const requestHeaderOptionTable = {
  'requestheader-client-ca-file': {
    type: 'text',
    description: 'CA bundle of the proxies that may say in headers who makes a request.',
  },
  'requestheader-allowed-names': {
    type: 'list',
    description: 'Common names of those proxies; empty: every certificate of the bundle.',
  },
  'requestheader-username-headers': {
    type: 'list',
    default: ['X-Remote-User'],
    description: 'Headers with the name of the user.',
  },
  'requestheader-group-headers': {
    type: 'list',
    default: ['X-Remote-Group'],
    description: 'Headers with its groups, one each.',
  },
  'requestheader-uid-headers': {
    type: 'list',
    default: ['X-Remote-Uid'],
    description: 'Headers with its unique id.',
  },
  'requestheader-extra-headers-prefix': {
    type: 'list',
    default: ['X-Remote-Extra-'],
    description: 'Beginnings of headers with what else is known of it.',
  },
} as const satisfies OptionTable;
