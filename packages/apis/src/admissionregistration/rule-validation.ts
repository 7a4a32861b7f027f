import {
  fieldErrors,
  validatePathSegmentName,
  type FieldError,
  type FieldPath,
  type Json,
} from '@multiplane/apimachinery';
import { at, textsAt } from '../fields.ts';

const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const scopes = ['*', 'Cluster', 'Namespaced'];

/** A rule that selects requests: operations, groups, versions, resources, scope. */
export function ruleErrors(rule: Json, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const wanted = textsAt(rule, 'operations');
  listErrors(wanted, path.child('operations'), 'operations', errors);
  for (const [index, operation] of wanted.entries()) {
    if (!operations.includes(operation)) {
      errors.push(fieldErrors.notSupported(path.child('operations').index(index), operation, operations));
    }
  }
  listErrors(textsAt(rule, 'apiGroups'), path.child('apiGroups'), 'API groups', errors);
  const versions = textsAt(rule, 'apiVersions');
  listErrors(versions, path.child('apiVersions'), 'API versions', errors);
  for (const [index, version] of versions.entries()) {
    if (version === '') errors.push(fieldErrors.required(path.child('apiVersions').index(index)));
  }
  errors.push(...resourceErrors(textsAt(rule, 'resources'), path.child('resources')));
  const scope = at(rule, 'scope');
  if (typeof scope === 'string' && !scopes.includes(scope)) {
    errors.push(fieldErrors.notSupported(path.child('scope'), scope, scopes));
  }
  return errors;
}

function listErrors(values: readonly string[], path: FieldPath, what: string, errors: FieldError[]): void {
  if (values.length === 0) errors.push(fieldErrors.required(path));
  if (values.length > 1 && values.includes('*')) {
    errors.push(fieldErrors.invalid(path, values, `if '*' is present, must not specify other ${what}`));
  }
}

/** What a wildcard covers must not be named beside it. */
function resourceErrors(resources: readonly string[], path: FieldPath): FieldError[] {
  if (resources.length === 0) return [fieldErrors.required(path)];
  const errors: FieldError[] = [];
  const allSubresourcesOf = new Set<string>();
  const ofAllResources = new Set<string>();
  let plain = false;
  for (const [index, text] of resources.entries()) {
    const where = path.index(index);
    const slash = text.indexOf('/');
    if (text === '') {
      errors.push(fieldErrors.required(where));
    } else if (slash < 0) {
      plain = text !== '*';
    } else {
      const resource = text.slice(0, slash);
      const subresource = text.slice(slash + 1);
      const covered = (by: string): void =>
        void errors.push(fieldErrors.invalid(where, text, `if '${by}' is present, must not specify ${text}`));
      if (allSubresourcesOf.has(resource)) covered(`${resource}/*`);
      if (ofAllResources.has(subresource)) covered(`*/${subresource}`);
      if (subresource === '*') allSubresourcesOf.add(resource);
      if (resource === '*') ofAllResources.add(subresource);
    }
  }
  if (resources.length > 1 && resources.includes('*/*')) {
    errors.push(fieldErrors.invalid(path, resources, "if '*/*' is present, must not specify other resources"));
  }
  if (resources.includes('*') && plain) {
    const detail = "if '*' is present, must not specify other resources without subresources";
    errors.push(fieldErrors.invalid(path, resources, detail));
  }
  return errors;
}

/** A rule of a policy: may be limited to names. */
export function namedRuleErrors(rule: Json, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [index, name] of textsAt(rule, 'resourceNames').entries()) {
    const where = path.child('resourceNames').index(index);
    errors.push(...validatePathSegmentName(name).map((message) => fieldErrors.invalid(where, name, message)));
    if (seen.has(name)) errors.push(fieldErrors.duplicate(where, name));
    seen.add(name);
  }
  errors.push(...ruleErrors(rule, path));
  return errors;
}
