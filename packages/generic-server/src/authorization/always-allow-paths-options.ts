import type { OptionTable } from '@multiplane/component-base';

/** The flag of {@link AlwaysAllowPathsAuthorizer}. */
export const alwaysAllowPathsOptionTable = {
  'authorization-always-allow-paths': {
    type: 'list',
    default: ['/healthz', '/readyz', '/livez'],
    description: 'Paths that are allowed without authorization.',
  },
} as const satisfies OptionTable;
