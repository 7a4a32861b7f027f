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
    if (Array.isArray(value)) {
      values += value.length;
      for (const item of value) if (typeof item === 'object' && item !== null) pending.push([item, depth + 1]);
    } else {
      let members = 0;
      // `Object.values` of a wide object takes several times as long.
      for (const key in value) {
        members++;
        const member = value[key] as Json;
        if (typeof member === 'object' && member !== null) pending.push([member, depth + 1]);
      }
      if (members > maxJsonMembers) throw tooManyMembers();
      values += members;
    }
    if (values > maxJsonValues) throw statusErrors.tooLarge(`the object would have more than ${maxJsonValues} values`);
  }
}
