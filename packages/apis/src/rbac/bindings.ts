import {
  deepEqual,
  fieldErrors,
  FieldPath,
  isJsonObject,
  type DeepReadonly,
  type FieldError,
  type Json,
  type KubeObject,
} from '@multiplane/apimachinery';
import { builtInKind } from '../built-in-kind.ts';
import { at, listAt, objectAt, textAt } from '../fields.ts';
import { pathSegmentName, subdomainName } from '../name-rules.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import type { TableConvertor } from '../table-convertor.ts';
import { ageOf, column, nameColumn } from '../tables/columns.ts';
import { rbacStrategy } from './roles.ts';
import { rbacGroup } from './rules.ts';

interface BindingKind {
  readonly kind: 'RoleBinding' | 'ClusterRoleBinding';
  readonly resource: string;
  readonly namespaced: boolean;
  /** Kinds that `roleRef` may name. */
  readonly roleKinds: readonly string[];
}

export const roleBindings = (): ResourceDefinition =>
  bindings({ kind: 'RoleBinding', resource: 'rolebindings', namespaced: true, roleKinds: ['Role', 'ClusterRole'] });

export const clusterRoleBindings = (): ResourceDefinition =>
  bindings({
    kind: 'ClusterRoleBinding',
    resource: 'clusterrolebindings',
    namespaced: false,
    roleKinds: ['ClusterRole'],
  });

function bindings(binding: BindingKind): ResourceDefinition {
  const validate = (object: KubeObject): FieldError[] => [
    ...roleRefErrors(object, binding.roleKinds),
    ...listAt(object, 'subjects').flatMap((subject, index) =>
      subjectErrors(subject, binding.namespaced, FieldPath.of('subjects').index(index)),
    ),
  ];
  return builtInKind({
    group: rbacGroup,
    version: 'v1',
    kind: binding.kind,
    resource: binding.resource,
    namespaced: binding.namespaced,
    component: `io.k8s.api.rbac.v1.${binding.kind}`,
    defaults: fillGroups,
    strategy: rbacStrategy(validate, { validateChange: roleRefChanges }),
    table: bindingTable,
  });
}

/** Users, groups and roles belong to the group of RBAC unless said otherwise. */
function fillGroups(object: KubeObject): void {
  const roleRef = objectAt(object, 'roleRef');
  if (roleRef !== undefined && textAt(roleRef, 'apiGroup') === '') roleRef['apiGroup'] = rbacGroup;
  for (const subject of listAt(object, 'subjects')) {
    if (!isJsonObject(subject) || textAt(subject, 'apiGroup') !== '') continue;
    const kind = textAt(subject, 'kind');
    if (kind === 'User' || kind === 'Group') subject['apiGroup'] = rbacGroup;
  }
}

function roleRefErrors(object: KubeObject, kinds: readonly string[]): FieldError[] {
  const path = FieldPath.of('roleRef');
  const errors: FieldError[] = [];
  const group = textAt(object, 'roleRef', 'apiGroup');
  if (group !== rbacGroup) errors.push(fieldErrors.notSupported(path.child('apiGroup'), group, [rbacGroup]));
  const kind = textAt(object, 'roleRef', 'kind');
  if (!kinds.includes(kind)) errors.push(fieldErrors.notSupported(path.child('kind'), kind, kinds));
  const name = textAt(object, 'roleRef', 'name');
  if (name === '') errors.push(fieldErrors.required(path.child('name')));
  else errors.push(...pathSegmentName(name).map((message) => fieldErrors.invalid(path.child('name'), name, message)));
  return errors;
}

function subjectErrors(subject: Json, namespaced: boolean, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const name = textAt(subject, 'name');
  const group = textAt(subject, 'apiGroup');
  const kind = textAt(subject, 'kind');
  if (name === '') errors.push(fieldErrors.required(path.child('name')));
  switch (kind) {
    case 'ServiceAccount':
      if (name !== '') {
        errors.push(...subdomainName(name).map((message) => fieldErrors.invalid(path.child('name'), name, message)));
      }
      if (group !== '') errors.push(fieldErrors.notSupported(path.child('apiGroup'), group, ['']));
      if (!namespaced && textAt(subject, 'namespace') === '')
        errors.push(fieldErrors.required(path.child('namespace')));
      break;
    case 'User':
    case 'Group':
      if (group !== rbacGroup) errors.push(fieldErrors.notSupported(path.child('apiGroup'), group, [rbacGroup]));
      break;
    default:
      errors.push(fieldErrors.notSupported(path.child('kind'), kind, ['ServiceAccount', 'User', 'Group']));
  }
  return errors;
}

function roleRefChanges(object: KubeObject, old: DeepReadonly<KubeObject>): FieldError[] {
  if (deepEqual(at(object, 'roleRef'), at(old, 'roleRef'))) return [];
  // The message shows the Go field names of Kubernetes' internal version.
  const value = {
    APIGroup: textAt(object, 'roleRef', 'apiGroup'),
    Kind: textAt(object, 'roleRef', 'kind'),
    Name: textAt(object, 'roleRef', 'name'),
  };
  return [fieldErrors.invalid('roleRef', value, 'cannot change roleRef')];
}

const bindingTable: TableConvertor = {
  columns: [
    nameColumn,
    column('Role', { description: 'The role that is granted.' }),
    column('Age', { description: 'Time since the object was created.' }),
    column('Users', { priority: 1, description: 'Users that get the role.' }),
    column('Groups', { priority: 1, description: 'Groups that get the role.' }),
    column('ServiceAccounts', { priority: 1, description: 'Service accounts that get the role.' }),
  ],
  cells: (object, now) => {
    const names = (kind: string): string =>
      listAt(object, 'subjects')
        .filter((subject) => textAt(subject, 'kind') === kind)
        .map((subject) =>
          kind === 'ServiceAccount'
            ? `${textAt(subject, 'namespace')}/${textAt(subject, 'name')}`
            : textAt(subject, 'name'),
        )
        .join(', ');
    return [
      object.metadata.name ?? '',
      `${textAt(object, 'roleRef', 'kind')}/${textAt(object, 'roleRef', 'name')}`,
      ageOf(object, now),
      names('User'),
      names('Group'),
      names('ServiceAccount'),
    ];
  },
};
