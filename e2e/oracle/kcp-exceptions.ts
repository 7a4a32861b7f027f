const types = 'types, life cycle and access of workspaces have an issue of their own (5)';
const sharing = 'sharing of APIs has an issue of its own (6)';
const shape = 'the sharded shape has an issue of its own (4)';

/**
 * Scenarios of kcp that are not played, each with the reason. The list only shrinks: an entry goes when its reason does.
 *
 * Keys are `<topic>` or `<topic>/<file without .json>`.
 */
export const kcpExceptions: Readonly<Record<string, string>> = {
  'access/06-service-account-in-its-own-and-in-a-foreign-workspace': types,
  'apiexport-vw': sharing,
  'apiresourceschema-vw': sharing,
  bindings: sharing,
  'cache/01-paths-and-permissions-of-the-cache-server': shape,
  'cache/02-replicated-exports-types-and-roles': shape,
  'cached-resources': 'virtual resources have an issue of their own',
  claims: sharing,
  crds: sharing,
  'discovery/01-a-fresh-workspace': shape,
  'discovery/02-aggregated-discovery-and-openapi-of-a-fresh-workspace': shape,
  endpointslices: sharing,
  exports: sharing,
  home: types,
  initializers: types,
  'logicalclusters/01-creating-listing-and-deleting-by-hand': types,
  'logicalclusters/02-protected-fields-and-finalizer': types,
  'logicalclusters/03-marked-inactive-only-the-object-itself-is-reachable': types,
  'logicalclusters/04-marked-directly-deletable-deletion-leaves-the-workspace-without-cluste': types,
  'logicalclusters/05-the-creator-keeps-the-workspace-admin-binding': types,
  mounts: types,
  'paths/04-the-same-workspace-by-path-and-by-name': shape,
  'paths/05-wildcard-requests-by-ordinary-users-admin-and-masters': shape,
  'paths/06-system-clusters': shape,
  'paths/08-errors-under-services': shape,
  schemas: sharing,
  terminators: types,
  'workspace-authentication': types,
  'workspaces/01-create-with-an-explicit-type-become-ready-delete': types,
  'workspaces/02-default-type-comes-from-the-parent-type': types,
  'workspaces/03-type-that-does-not-exist-or-cannot-be-resolved': types,
  'workspaces/04-limits-on-parents-and-children-of-the-shipped-types': types,
  'workspaces/05-fields-of-a-workspace-that-cannot-change': types,
  'workspaces/06-fields-reserved-for-privileged-users-at-creation': types,
  'workspaces/07-use-permission-on-a-type-decides-who-may-create': types,
  'workspaces/08-no-shard-matches-the-selector': types,
  'workspaces/09-deletion-waits-for-a-finalizer-inside-the-workspace': types,
  'workspaces/11-watch-of-a-workspace-from-creation-to-ready': types,
  'workspaces/12-created-by-a-member-of-system-masters-without-an-owner': types,
  'workspaces/13-a-mount-can-be-added-to-an-existing-workspace-and-then-locks-it': types,
  workspacetypes: types,
};

const oneReading = 'a path has one reading or none (ADR 0021): what is not clean is refused with 400';
const sameRefusal = 'a missing workspace is refused as a closed one, so that nobody learns what exists';
const asKubernetes = 'as Kubernetes answers; the reference differs by accident';

/** Steps that are answered otherwise than by kcp, and why that is right. Everything else of these scenarios holds. */
export const kcpDifferences: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  'paths/01-unknown-workspaces-by-name-and-by-path': {
    4: sameRefusal,
    5: sameRefusal,
    6: sameRefusal,
    7: sameRefusal,
    8: sameRefusal,
  },
  'paths/02-hostile-and-malformed-cluster-segments': { 11: oneReading, 12: oneReading },
  'paths/03-incomplete-cluster-paths': {
    1: oneReading,
    4: oneReading,
    5: 'a redirect of an unclean path keeps the workspace; the reference sends the client out of it',
    11: asKubernetes,
  },
};

/** Parts of all answers of a scenario that are not compared, each with the reason. */
export const kcpIgnored: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'discovery/01-a-fresh-workspace': {
    '/groups/*/serverAddressByClientCIDRs': 'as Kubernetes: groups carry no addresses',
    '/resources/*/storageVersionHash':
      'as Kubernetes: a hash of what is stored; differs from installation to installation',
    '/resources/*/categories': 'kcp has no categories for admission policies of this version',
  },
};
