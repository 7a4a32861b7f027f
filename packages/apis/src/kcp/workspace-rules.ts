import {
  deepEqual,
  fieldErrors,
  FieldPath,
  omittedValue,
  type FieldError,
  type JsonObject,
} from '@multiplane/apimachinery';
import type { RuleValidator } from '@multiplane/schema';
import { at, objectAt, textAt } from '../fields.ts';

const spec = FieldPath.of('spec');
const refused = (path: FieldPath, message: string): FieldError => fieldErrors.invalid(path, omittedValue, message);

/**
 * The rules that the schema of workspaces carries in CEL (C2.10), by hand: what is set for good cannot change or go.
 * All of them compare with the object as it was, so a new workspace breaks none.
 */
export const workspaceRules: RuleValidator = {
  validate(object: JsonObject, old: JsonObject | undefined): FieldError[] {
    if (old === undefined) return [];
    const errors: FieldError[] = [];
    for (const field of ['URL', 'cluster']) {
      if (at(old, 'spec', field) !== undefined && at(object, 'spec', field) === undefined) {
        errors.push(refused(spec, `${field} cannot be unset`));
      }
    }
    const [cluster, before] = [at(object, 'spec', 'cluster'), at(old, 'spec', 'cluster')];
    if (cluster !== undefined && before !== undefined && cluster !== before) {
      errors.push(fieldErrors.invalid(spec.child('cluster'), cluster, 'cluster is immutable'));
    }
    return [...errors, ...mountErrors(object, old), ...typeErrors(object, old)];
  },
};

/** A mount may come later, but once there it stays as it is; taking it away altogether is allowed. */
function mountErrors(object: JsonObject, old: JsonObject): FieldError[] {
  const [mount, before] = [objectAt(object, 'spec', 'mount'), objectAt(old, 'spec', 'mount')];
  const changed = mount !== undefined && before !== undefined && !deepEqual(mount, before);
  return changed ? [refused(spec.child('mount'), 'mount is immutable')] : [];
}

function typeErrors(object: JsonObject, old: JsonObject): FieldError[] {
  const [type, before] = [objectAt(object, 'spec', 'type'), objectAt(old, 'spec', 'type')];
  if (type === undefined || before === undefined) return [];
  const path = spec.child('type');
  const errors = textAt(type, 'name') === textAt(before, 'name') ? [] : [refused(path, 'name is immutable')];
  if (at(type, 'path') !== at(before, 'path')) errors.push(refused(path, 'path is immutable'));
  return errors;
}
