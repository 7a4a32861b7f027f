import { jsonTypeName } from '../json/json-type-name.ts';
import type { Json } from '../json/json.ts';
import { StatusError, statusErrors } from '../errors/status-error.ts';

/**
 * 422 of a patch that cannot be applied to this object. Kubernetes keeps the reason to itself, clients see this text
 * whatever it was; `why` stays as the cause for logs.
 */
export function patchNotApplicable(why: string): StatusError {
  return new StatusError({
    code: 422,
    reason: 'Invalid',
    message: 'the server rejected our request due to an error in our request',
    details: {},
    cause: new Error(why),
  });
}

/** 400 of a patch that is malformed in itself. */
export const malformedPatch = (why: string): StatusError => statusErrors.badRequest(why);

/** 400 of a patch, or a part of one, that is JSON of another type than `wanted`, in the words of Go's decoder. */
export function unfitPatch(value: Json, wanted: string): StatusError {
  return malformedPatch(`json: cannot unmarshal ${jsonTypeName(value)} into Go value of type ${wanted}`);
}
