import { parseLabelSelector, SelectorParseError, statusErrors, type LabelSelector } from '@multiplane/apimachinery';
import type { CacheEntry } from '@multiplane/storage';
import { groupResourceOf } from '../registry/definitions/group-resource.ts';
import { labelsOf } from '../registry/store/entry-metadata.ts';
import type { ResourceRequest } from './resource-request.ts';

/**
 * Query parameter of a GET: a label selector that the object must match, else the response is 404. Virtual workspaces send it,
 * so that the state which is checked is the one that is returned, in every media type. It only ever restricts, so it may
 * come from any client; Kubernetes ignores it.
 */
export const requiredLabelsParameter = 'requiredLabels';

/** Throws NotFound unless the labels match the request's {@link requiredLabelsParameter}, if it has one; 400 for a bad selector. */
export function checkRequiredLabels(
  { context, definition, name }: Pick<ResourceRequest, 'context' | 'definition' | 'name'>,
  labels: () => Readonly<Record<string, string>>,
): void {
  const text = context.info.query.get(requiredLabelsParameter);
  if (text !== null && !selectorOf(text).matches(labels()))
    throw statusErrors.notFound(groupResourceOf(definition), name);
}

/** Throws StatusError 400 for text that is no selector. */
function selectorOf(text: string): LabelSelector {
  try {
    return parseLabelSelector(text);
  } catch (error) {
    if (error instanceof SelectorParseError) throw statusErrors.badRequest(error.message, error);
    throw error;
  }
}

/** Returns the entry if it matches. */
export function withRequiredLabels(request: ResourceRequest, entry: CacheEntry): CacheEntry {
  checkRequiredLabels(request, () => labelsOf(entry));
  return entry;
}
