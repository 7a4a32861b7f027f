import type { JsonObject } from '@multiplane/apimachinery';

const parameter = (name: string, type: string, description: string, place: 'path' | 'query' = 'query'): JsonObject => ({
  description,
  in: place,
  name,
  ...(place === 'path' ? { required: true } : {}),
  schema: { type, uniqueItems: true },
});

const query = {
  allowWatchBookmarks: parameter('allowWatchBookmarks', 'boolean', 'Ask for bookmark events in a watch.'),
  continue: parameter('continue', 'string', 'Token of the page before, for the next page of a list.'),
  dryRun: parameter('dryRun', 'string', '`All`: do everything except storing the result.'),
  fieldManager: parameter('fieldManager', 'string', 'Name under which the changed fields are owned.'),
  fieldSelector: parameter('fieldSelector', 'string', 'Restricts the answer by values of fields.'),
  fieldValidation: parameter(
    'fieldValidation',
    'string',
    'What to do about unknown and repeated fields: Ignore, Warn or Strict.',
  ),
  force: parameter('force', 'boolean', 'Take over fields that others own (server-side apply only).'),
  gracePeriodSeconds: parameter('gracePeriodSeconds', 'integer', 'Seconds until the object is deleted.'),
  ignoreStoreReadErrorWithClusterBreakingPotential: parameter(
    'ignoreStoreReadErrorWithClusterBreakingPotential',
    'boolean',
    'Delete an object that cannot be read from storage.',
  ),
  labelSelector: parameter('labelSelector', 'string', 'Restricts the answer by labels.'),
  limit: parameter('limit', 'integer', 'Most objects to answer with; more come with a continue token.'),
  orphanDependents: parameter(
    'orphanDependents',
    'boolean',
    'Deprecated: whether dependents stay. Use propagationPolicy.',
  ),
  pretty: parameter('pretty', 'string', 'Indent the answer.'),
  propagationPolicy: parameter(
    'propagationPolicy',
    'string',
    'What happens to dependents: Orphan, Background or Foreground.',
  ),
  resourceVersion: parameter('resourceVersion', 'string', 'Version of the store that the answer is about.'),
  resourceVersionMatch: parameter(
    'resourceVersionMatch',
    'string',
    'How resourceVersion is meant: Exact or NotOlderThan.',
  ),
  sendInitialEvents: parameter('sendInitialEvents', 'boolean', 'Begin a watch with the objects that exist.'),
  shardSelector: parameter('shardSelector', 'string', 'Restricts the answer to a part of all objects.'),
  timeoutSeconds: parameter('timeoutSeconds', 'integer', 'Seconds after which the server ends the request.'),
  watch: parameter('watch', 'boolean', 'Stream changes instead of answering with a list.'),
} as const;

export const pathParameters = {
  name: (kind: string): JsonObject => parameter('name', 'string', `Name of the ${kind}.`, 'path'),
  namespace: parameter('namespace', 'string', 'Namespace of the object.', 'path'),
  pretty: query.pretty,
};

const selection = [query.fieldSelector, query.labelSelector];
const paging = [
  query.limit,
  query.resourceVersion,
  query.resourceVersionMatch,
  query.sendInitialEvents,
  query.shardSelector,
];

/** Query parameters of list and watch requests. */
export const listParameters: readonly JsonObject[] = [
  query.allowWatchBookmarks,
  query.continue,
  ...selection,
  ...paging,
  query.timeoutSeconds,
  query.watch,
];
export const writeParameters: readonly JsonObject[] = [query.dryRun, query.fieldManager, query.fieldValidation];
export const patchParameters: readonly JsonObject[] = [...writeParameters, query.force];
export const deleteParameters: readonly JsonObject[] = [
  query.dryRun,
  query.gracePeriodSeconds,
  query.ignoreStoreReadErrorWithClusterBreakingPotential,
  query.orphanDependents,
  query.propagationPolicy,
];
export const deleteCollectionParameters: readonly JsonObject[] = [
  query.continue,
  query.dryRun,
  query.fieldSelector,
  query.gracePeriodSeconds,
  query.ignoreStoreReadErrorWithClusterBreakingPotential,
  query.labelSelector,
  query.limit,
  query.orphanDependents,
  query.propagationPolicy,
  query.resourceVersion,
  query.resourceVersionMatch,
  query.sendInitialEvents,
  query.shardSelector,
  query.timeoutSeconds,
];
/** Of GET of a custom resource; the documents of built-in kinds name none. */
export const customReadParameters: readonly JsonObject[] = [query.resourceVersion];
