import { fieldErrors, type FieldError, type FieldPath, type KubeObject } from '@multiplane/apimachinery';
import { at, entriesAt, listAt, objectAt, textAt, textsAt } from '../fields.ts';
import { isStandardQuotaName } from './resource-names.ts';

const podCounts = ['pods'];
const podAmounts = ['cpu', 'memory', 'limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory'];

/** Each scope and the standard resources it may limit. */
const scopes: Readonly<Record<string, readonly string[]>> = {
  Terminating: [...podCounts, ...podAmounts],
  NotTerminating: [...podCounts, ...podAmounts],
  BestEffort: podCounts,
  NotBestEffort: [...podCounts, ...podAmounts],
  PriorityClass: [...podCounts, ...podAmounts],
  CrossNamespacePodAffinity: [...podCounts, ...podAmounts],
  VolumeAttributesClass: ['persistentvolumeclaims', 'requests.storage'],
};
const opposites = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
] as const;
const existenceOnly = new Set([
  'BestEffort',
  'NotBestEffort',
  'Terminating',
  'NotTerminating',
  'CrossNamespacePodAffinity',
]);

/** Rules of `scopes` and `scopeSelector` of a quota. */
export function quotaScopeErrors(object: KubeObject, path: FieldPath): FieldError[] {
  const limited = entriesAt(object, 'spec', 'hard').map(([name]) => name);
  return [...listErrors(object, limited, path.child('scopes')), ...selectorErrors(object, limited, path)];
}

const doesNotFit = (scope: string, resource: string): boolean =>
  isStandardQuotaName(resource) && Object.hasOwn(scopes, scope) && scopes[scope]?.includes(resource) === false;

const areOpposite = (names: readonly string[]): boolean =>
  opposites.some((pair) => pair.every((name) => names.includes(name)));

function listErrors(object: KubeObject, limited: readonly string[], path: FieldPath): FieldError[] {
  const names = textsAt(object, 'spec', 'scopes');
  const errors: FieldError[] = [];
  const wrong = (detail: string): void => void errors.push(fieldErrors.invalid(path, names, detail));
  for (const name of names) {
    if (!Object.hasOwn(scopes, name)) wrong('unsupported scope');
    for (const resource of limited) if (doesNotFit(name, resource)) wrong('unsupported scope applied to resource');
  }
  if (areOpposite(names)) wrong('conflicting scopes');
  return errors;
}

function selectorErrors(object: KubeObject, limited: readonly string[], specPath: FieldPath): FieldError[] {
  const selector = objectAt(object, 'spec', 'scopeSelector');
  if (selector === undefined) return [];
  const path = specPath.child('scopeSelector', 'matchExpressions');
  const errors: FieldError[] = [];
  const requirements = listAt(selector, 'matchExpressions');
  for (const requirement of requirements) {
    const name = textAt(requirement, 'scopeName');
    const operator = textAt(requirement, 'operator');
    if (!Object.hasOwn(scopes, name)) {
      errors.push(fieldErrors.invalid(path.child('scopeName'), name, 'unsupported scope'));
    }
    for (const resource of limited) {
      if (doesNotFit(name, resource)) {
        errors.push(fieldErrors.invalid(path, selector, 'unsupported scope applied to resource'));
      }
    }
    if (existenceOnly.has(name) && operator !== 'Exists') {
      errors.push(
        fieldErrors.invalid(
          path.child('operator'),
          operator,
          "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, " +
            'ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity',
        ),
      );
    }
    errors.push(...operatorErrors(operator, at(requirement, 'values') ?? null, path));
  }
  if (areOpposite(requirements.map((requirement) => textAt(requirement, 'scopeName')))) {
    errors.push(fieldErrors.invalid(path, selector, 'conflicting scopes'));
  }
  return errors;
}

function operatorErrors(operator: string, values: unknown, path: FieldPath): FieldError[] {
  const count = Array.isArray(values) ? values.length : 0;
  switch (operator) {
    case 'In':
    case 'NotIn':
      return count > 0
        ? []
        : [
            fieldErrors.required(
              path.child('values'),
              "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
            ),
          ];
    case 'Exists':
    case 'DoesNotExist':
      return count === 0
        ? []
        : [
            fieldErrors.invalid(
              path.child('values'),
              values,
              "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
            ),
          ];
    default:
      return [fieldErrors.invalid(path.child('operator'), operator, 'not a valid selector operator')];
  }
}
