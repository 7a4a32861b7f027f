import { fieldErrors, FieldPath, type FieldError, type Json, type KubeObject } from '@multiplane/apimachinery';
import { listAt, textsAt } from '../fields.ts';

export const rbacGroup = 'rbac.authorization.k8s.io';

/** What a rule must say. Rules of a Role cannot cover paths outside of resources. */
export function policyRuleErrors(object: KubeObject, namespaced: boolean): FieldError[] {
  return listAt(object, 'rules').flatMap((rule, index) =>
    ruleErrors(rule, namespaced, FieldPath.of('rules').index(index)),
  );
}

function ruleErrors(rule: Json, namespaced: boolean, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const has = (field: string): boolean => listAt(rule, field).length > 0;
  if (!has('verbs')) errors.push(fieldErrors.required(path.child('verbs'), 'verbs must contain at least one value'));
  if (has('nonResourceURLs')) {
    const urls = textsAt(rule, 'nonResourceURLs');
    const wrong = (detail: string): FieldError => fieldErrors.invalid(path.child('nonResourceURLs'), urls, detail);
    if (namespaced) errors.push(wrong('namespaced rules cannot apply to non-resource URLs'));
    if (has('apiGroups') || has('resources') || has('resourceNames')) {
      errors.push(wrong('rules cannot apply to both regular resources and non-resource URLs'));
    }
    return errors;
  }
  if (!has('apiGroups')) {
    errors.push(fieldErrors.required(path.child('apiGroups'), 'resource rules must supply at least one api group'));
  }
  if (!has('resources')) {
    errors.push(fieldErrors.required(path.child('resources'), 'resource rules must supply at least one resource'));
  }
  return errors;
}
