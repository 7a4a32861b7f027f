/**
 * Scenarios of kcp that are not played, each with the reason. The list only shrinks: an entry goes when its reason does.
 *
 * Keys are `<topic>` or `<topic>/<file without .json>`.
 */
export const kcpExceptions: Readonly<Record<string, string>> = {
  'workspaces/12-created-by-a-member-of-system-masters-without-an-owner':
    'records that it never becomes Ready; ours does (e2e/workspaces/types.test.ts)',
};

const oneReading = 'a path has one reading or none (ADR 0021): what is not clean is refused with 400';
const sameRefusal = 'a missing workspace gets the answer of a forbidden one, so that its existence stays hidden';
const ownWords = 'documents and columns are described in words of our own';
const protectedFields = 'a hole of kcp: admins of a workspace could change fields that the system sets';
const laterMount = 'a hole of kcp: a mount added later makes a workspace unreachable; it is refused';
const asKubernetes = 'as Kubernetes answers; kcp differs by accident';

const numbered = 'uids are numbered by appearance, and members stand in another order';
const notHidden = 'claims read back in v1alpha1 as they are, so that what was read can be written';
const warningGivesReason = 'a warning says why the entry will not be used';
const verbsEverywhere =
  'what consumers accept holds over all logical clusters, too (apiexport.test.ts in virtual-workspaces)';
const servedAtOnce = 'discovery lists a served resource immediately; kcp some seconds later';
const readOnlyText = 'the refusal also says that the resource is read-only, and of which export it is';

/** Steps that are answered otherwise than by kcp, and why that is right. Everything else of these scenarios holds. */
export const kcpDifferences: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  'access/04-who-am-i-and-what-may-i-do': { 5: 'uids are numbered by appearance, and members stand in another order' },
  'access/07-impersonation-and-its-limits': {
    17: 'kcp accepts an impersonation that was allowed in another workspace',
  },
  'access/10-rbac-objects-are-per-workspace-and-guarded-against-escalation': {
    6: 'the roles of the control plane may be bound everywhere, so the refusal says which rights are missing',
  },
  'bindings/06-a-schema-that-looks-fine-but-is-refused-as-crd': {
    11: 'the definition is one; the recording shows the five seconds before it is served, which are none here',
  },
  'bindings/09-the-same-binding-in-v1alpha1-and-v1alpha2': { 8: notHidden },
  'endpointslices/02-a-slice-needs-the-permission-to-bind': {
    14: 'a hole of kcp: the owner of the slice could write endpoints, which belong to the shards',
  },
  'exports/04-the-same-export-in-v1alpha1-and-v1alpha2': { 6: notHidden, 7: notHidden, 8: notHidden },
  'apiexport-vw/01-discovery-of-the-virtual-workspace': {
    21: 'aggregated discovery, which kcp lacks',
  },
  'apiexport-vw/02-all-verbs-in-one-consumer-workspace': { 19: asKubernetes, 20: asKubernetes },
  'claims/04-shape-of-a-claim-in-a-binding': { 20: 'keys are named as they are stored, with those left empty' },
  'apiresourceschema-vw/01-schemas-of-the-bound-exports': {
    11: 'a list has a version to watch from (apiresourceschema.test.ts in virtual-workspaces)',
    18: 'a hash of what is stored; differs from installation to installation',
  },
  'claims/05-verbs-of-a-claim-limit-the-virtual-workspace': { 17: verbsEverywhere },
  'claims/08-labels-of-claims-after-the-binding-is-gone': {
    15: 'labels of claims go with the binding (permission-claims.test.ts of the shard)',
  },
  'claims/09-wildcard-requests-obey-the-verbs-of-the-claims': { 12: verbsEverywhere },
  'crds/01-reserved-groups-and-annotations-and-the-life-of-a-crd-in-a-workspace': {
    13: servedAtOnce,
    14: servedAtOnce,
  },
  'cached-resources/01-publishing-a-cluster-scoped-resource': { 8: 'namespaced resources can be cached, too' },
  'cached-resources/02-consumers-read-a-virtual-resource': {
    19: readOnlyText,
    20: readOnlyText,
    21: readOnlyText,
    22: readOnlyText,
  },
  'cached-resources/03-conditions-of-an-endpoint-slice': {
    14: 'a slice without an export serves every export of its workspace that refers to it, as documented before kcp 0.32',
  },
  'discovery/01-a-fresh-workspace': {
    3: 'flow control and the usage of workspaces are served',
    4: 'limit ranges are served',
    19: asKubernetes,
    20: 'flow control is served',
    21: asKubernetes,
  },
  'discovery/02-aggregated-discovery-and-openapi-of-a-fresh-workspace': {
    2: 'aggregated discovery of groups, which kcp lacks',
    3: 'aggregated discovery of groups, which kcp lacks',
    4: 'limit ranges are served',
    5: 'flow control and definitions have documents',
    6: ownWords,
    7: asKubernetes,
    8: ownWords,
  },
  'initializers/02-status-rules-of-the-initializing-virtual-workspace': {
    9: 'a hole of kcp: initializers could change the address of a workspace',
  },
  'initializers/03-content-of-an-initializing-workspace-in-the-name-of-its-creator': {
    10: numbered,
  },
  'home/01-home-workspace-on-first-and-later-calls': { 6: sameRefusal },
  'logicalclusters/01-creating-listing-and-deleting-by-hand': { 11: ownWords },
  'logicalclusters/02-protected-fields-and-finalizer': {
    2: 'members stand in another order',
    4: protectedFields,
    13: protectedFields,
    14: protectedFields,
  },
  'logicalclusters/04-marked-directly-deletable-deletion-leaves-the-workspace-without-cluste': { 6: sameRefusal },
  'workspaces/01-create-with-an-explicit-type-become-ready-delete': {
    1: numbered,
    2: numbered,
    5: numbered,
    13: sameRefusal,
  },
  'workspaces/03-type-that-does-not-exist-or-cannot-be-resolved': { 4: numbered },
  'workspaces/05-fields-of-a-workspace-that-cannot-change': {
    10: laterMount,
    11: laterMount,
    12: laterMount,
    14: laterMount,
  },
  'workspaces/06-fields-reserved-for-privileged-users-at-creation': { 4: numbered, 5: numbered },
  'workspaces/08-no-shard-matches-the-selector': { 1: numbered, 3: 'it was initialized, too, and says so' },
  'workspaces/11-watch-of-a-workspace-from-creation-to-ready': { 8: ownWords },
  'workspaces/13-a-mount-can-be-added-to-an-existing-workspace-and-then-locks-it': {
    2: laterMount,
    3: laterMount,
    5: laterMount,
  },
  'workspacetypes/01-create-a-type-and-read-its-defaults-status-and-annotations': { 7: ownWords },
  'paths/04-the-same-workspace-by-path-and-by-name': { 12: sameRefusal },
  'mounts/01-a-workspace-that-stands-for-another-address': { 6: numbered, 8: sameRefusal, 15: sameRefusal },
  'paths/05-wildcard-requests-by-ordinary-users-admin-and-masters': {
    7: 'a kind of the control plane has one identity: without it there is no doubt what is meant',
  },
  'paths/08-errors-under-services': {
    14: 'a slice that does not exist is refused as one that the caller may not read',
    15: 'migration has an issue of its own',
  },
  'workspace-authentication/01-validation-of-an-authentication-configuration': {
    6: warningGivesReason,
    8: warningGivesReason,
    12: warningGivesReason,
    13: warningGivesReason,
    16: warningGivesReason,
  },
  'paths/06-system-clusters': {
    4: 'the kinds of kcp are compiled in, no definitions lie in a system cluster',
    6: 'a shard keeps nothing of its own in a logical cluster but what lies in system:admin',
    11: oneReading,
  },
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
    5: 'a redirect of an unclean path keeps the workspace; kcp drops the prefix of the workspace',
    11: asKubernetes,
    17: 'the version is no secret: clients ask for it before they choose a workspace',
  },
};

const ownHash = 'as Kubernetes: a hash of what is stored; differs from installation to installation';

/** Parts of all answers of a scenario that are not compared, each with the reason. */
export const kcpIgnored: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'bindings/01-life-of-a-binding': { '/resources/*/storageVersionHash': ownHash },
  'discovery/01-a-fresh-workspace': {
    '/groups/*/serverAddressByClientCIDRs': 'as Kubernetes: groups carry no addresses',
    '/resources/*/storageVersionHash': ownHash,
    '/resources/*/categories': 'kcp has no categories for admission policies of this version',
  },
};

const moment = 'what is seen depends on how far a controller had come; the recording caught one moment';

/** Steps whose answers may differ, and may not. */
export const kcpRaces: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  'crds/01-reserved-groups-and-annotations-and-the-life-of-a-crd-in-a-workspace': { 18: moment },
  'workspaces/06-fields-reserved-for-privileged-users-at-creation': { 8: moment },
  'workspaces/07-use-permission-on-a-type-decides-who-may-create': { 11: moment },
  'logicalclusters/04-marked-directly-deletable-deletion-leaves-the-workspace-without-cluste': { 4: moment },
  'workspacetypes/05-a-workspace-waits-while-a-default-export-is-missing-its-objects': { 9: moment },
};
