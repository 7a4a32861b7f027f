/**
 * How the recordings of kcp are read on a sharded control plane: they were made at one shard with everything in its
 * process, and a front-proxy answers some requests itself.
 */

const atShard = 'what a shard answers; the front-proxy answers such paths itself';

/** Scenarios that are played against the root shard itself. None of them needs to find a workspace by its path. */
export const playedAtShard: Readonly<Record<string, string>> = {
  'bindings/07-identity-separates-equal-resources-in-wildcard-lists': atShard,
  'crds/01-reserved-groups-and-annotations-and-the-life-of-a-crd-in-a-workspace': atShard,
  'paths/01-unknown-workspaces-by-name-and-by-path': atShard,
  'paths/02-hostile-and-malformed-cluster-segments': atShard,
  'paths/03-incomplete-cluster-paths': atShard,
  'paths/05-wildcard-requests-by-ordinary-users-admin-and-masters': atShard,
  'paths/06-system-clusters': atShard,
  'paths/07-shard-level-endpoints-inside-a-workspace': atShard,
  'paths/08-errors-under-services': atShard,
};

const ownCache = 'the cache server is a process of its own, which accepts no tokens and is not behind the front-proxy';

/** Scenarios that are not played there. */
export const notOnShards: Readonly<Record<string, string>> = {
  'cache/01-paths-and-permissions-of-the-cache-server': ownCache,
  'cache/02-replicated-exports-types-and-roles': ownCache,
};

const unknownCluster = 'the front-proxy refuses requests to a logical cluster that does not exist';

const ownUrl = 'virtual workspaces that stand apart have a URL of their own';
const ownAddress = 'the address is that of the server behind the front-proxy';

/** Steps whose answers differ there, each with the reason. */
export const shardDifferences: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  'access/05-subject-access-reviews-and-their-deep-form': { 15: unknownCluster },
  'apiexport-vw/01-discovery-of-the-virtual-workspace': { 11: ownAddress },
  'apiexport-vw/05-unbound-workspaces-unclaimed-resources-and-path-forms': { 15: unknownCluster },
  'cached-resources/01-publishing-a-cluster-scoped-resource': { 14: ownCache, 15: ownCache, 18: ownCache },
  'cached-resources/02-consumers-read-a-virtual-resource': { 15: ownUrl },
  'discovery/01-a-fresh-workspace': { 2: ownAddress },
  'endpointslices/01-an-own-slice-admission-conditions-and-endpoints': { 19: ownUrl },
  'initializers/03-content-of-an-initializing-workspace-in-the-name-of-its-creator': { 13: unknownCluster },
  'initializers/06-discovery-inside-the-initializing-virtual-workspaces': { 6: ownAddress },
  'paths/08-errors-under-services': {
    0: 'a shard whose virtual workspaces stand apart serves nothing there itself',
    12: ownAddress,
  },
  'terminators/02-content-and-discovery-of-a-terminating-workspace': { 11: ownAddress },
  'workspaces/01-create-with-an-explicit-type-become-ready-delete': { 12: unknownCluster },
  'workspaces/10-a-name-can-be-used-again-and-gets-another-cluster': { 10: unknownCluster, 11: unknownCluster },
  'workspacetypes/01-create-a-type-and-read-its-defaults-status-and-annotations': {
    3: ownUrl,
    5: ownUrl,
  },
};

/** Parts of all answers that are not compared there, each with the reason. */
export const shardIgnored: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'workspaces/06-fields-reserved-for-privileged-users-at-creation': {
    '/status/phase': 'how far a workspace has come by then differs',
  },
};
