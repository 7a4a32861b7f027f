import { fieldErrors, FieldPath, type FieldError, type KubeObject } from '@multiplane/apimachinery';
import { builtInKind } from '../built-in-kind.ts';
import { defaultStrategy } from '../default-strategy.ts';
import { listAt, objectAt } from '../fields.ts';
import { labelSelectorErrors } from '../label-selector-rules.ts';
import { pathSegmentName } from '../name-rules.ts';
import type { ResourceDefinition, Strategy } from '../resource-definition.ts';
import { policyRuleErrors, rbacGroup } from './rules.ts';

/** RBAC kinds: any path segment is a name, PUT creates. */
export function rbacStrategy(
  validate: (object: KubeObject) => FieldError[],
  overrides: Partial<Strategy> = {},
): Strategy {
  return defaultStrategy({
    validateName: pathSegmentName,
    metadataChecks: { standardFinalizers: true, onUpdate: ['object', 'kind', 'update', 'change'] },
    allowCreateOnUpdate: true,
    validate: (_context, object) => validate(object),
    validateUpdate: (_context, object) => validate(object),
    ...overrides,
  });
}

export function roles(): ResourceDefinition {
  return builtInKind({
    group: rbacGroup,
    version: 'v1',
    kind: 'Role',
    resource: 'roles',
    namespaced: true,
    component: 'io.k8s.api.rbac.v1.Role',
    strategy: rbacStrategy((object) => policyRuleErrors(object, true)),
  });
}

export function clusterRoles(): ResourceDefinition {
  return builtInKind({
    group: rbacGroup,
    version: 'v1',
    kind: 'ClusterRole',
    resource: 'clusterroles',
    namespaced: false,
    component: 'io.k8s.api.rbac.v1.ClusterRole',
    strategy: rbacStrategy((object) => [...policyRuleErrors(object, false), ...aggregationErrors(object)]),
  });
}

function aggregationErrors(object: KubeObject): FieldError[] {
  if (objectAt(object, 'aggregationRule') === undefined) return [];
  const path = FieldPath.of('aggregationRule', 'clusterRoleSelectors');
  const selectors = listAt(object, 'aggregationRule', 'clusterRoleSelectors');
  if (selectors.length === 0) {
    return [fieldErrors.required(path, 'at least one clusterRoleSelector required if aggregationRule is non-nil')];
  }
  return selectors.flatMap((selector, index) => {
    const errors = labelSelectorErrors(selector, path.index(index));
    // Kubernetes converts the selector besides, to none in this case.
    return errors.length === 0
      ? []
      : [...errors, fieldErrors.invalid(path.index(index), null, 'invalid label selector.')];
  });
}
