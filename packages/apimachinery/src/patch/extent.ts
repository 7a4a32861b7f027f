import { statusErrors, type StatusError } from '../errors/status-error.ts';
import { maxJsonDepth, maxJsonMembers, maxJsonValues } from '../json/json-codec.ts';
import type { Json } from '../json/json.ts';
import { patchNotApplicable } from './patch-errors.ts';

/** 413 of a change that makes an object wider than a body may be: a PUT of what a GET returned would be refused. */
export const tooManyMembers = (): StatusError =>
  statusErrors.tooLarge(`an object would have more than ${maxJsonMembers} members`);

/** Checks the result of a patch. Throws StatusError 422 if it is deeper than a body may be, 413 if it is larger. */
export function checkExtent(root: Json): void {
  const pending: [value: Json, depth: number][] = [[root, 1]];
  let values = 1;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [value, depth] = next;
    if (typeof value !== 'object' || value === null) continue;
    if (depth > maxJsonDepth) throw patchNotApplicable('exceeded max depth');
    const members = Array.isArray(value) ? value : Object.values(value);
    if (members !== value && members.length > maxJsonMembers) throw tooManyMembers();
    values += members.length;
    if (values > maxJsonValues) throw statusErrors.tooLarge(`the object would have more than ${maxJsonValues} values`);
    for (const member of members) if (typeof member === 'object' && member !== null) pending.push([member, depth + 1]);
  }
}
