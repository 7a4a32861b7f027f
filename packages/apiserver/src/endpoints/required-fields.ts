import {
  FieldSelector,
  parseFieldSelector,
  SelectorParseError,
  statusErrors,
  type ListOptions,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { CacheEntry } from '@multiplane/storage';
import { groupResourceOf } from '../registry/definitions/group-resource.ts';
import { storedFieldSelection } from '../registry/store/stored-value.ts';
import type { ResourceRequest } from './resource-request.ts';

/**
 * Query parameter of reads and of deletecollection: a field selector on the objects as they are stored. Virtual workspaces
 * send it for scopes by a field: `fieldSelector` reads objects in the version of the request, which may lack the field, name it
 * otherwise or default it. As `requiredLabels` it only ever restricts, so it may come from any client; Kubernetes ignores it.
 * Only for bound resources: of others, a client might learn fields that a virtual workspace leaves out of its responses.
 */
export const requiredFieldsParameter = 'requiredFields';

const noFields = new FieldSelector([]);

/** The options of a list with the {@link requiredFieldsParameter} of its query. Throws StatusError 400 for text that is no selector. */
export function withRequiredFields(
  options: ListOptions,
  { context, definition }: Pick<ResourceRequest, 'context' | 'definition'>,
): ListOptions & { readonly requiredFields: FieldSelector } {
  return { ...options, requiredFields: requiredFieldsIn(context.info.query, definition) };
}

function requiredFieldsIn(query: URLSearchParams, { bound }: ResourceDefinition): FieldSelector {
  const text = query.get(requiredFieldsParameter);
  if (text === null) return noFields;
  if (bound === undefined)
    throw statusErrors.badRequest(`${requiredFieldsParameter} is only supported for resources of an APIBinding`);
  try {
    return parseFieldSelector(text);
  } catch (error) {
    if (error instanceof SelectorParseError) throw statusErrors.badRequest(error.message, error);
    throw error;
  }
}

/** Returns the entry if it matches the request's {@link requiredFieldsParameter}; else throws NotFound. */
export function requireFields({ context, definition, name }: ResourceRequest, entry: CacheEntry): CacheEntry {
  const selection = storedFieldSelection(requiredFieldsIn(context.info.query, definition));
  if (selection?.(entry) === false) throw statusErrors.notFound(groupResourceOf(definition), name);
  return entry;
}
