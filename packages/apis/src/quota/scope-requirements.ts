import {
  requirementMatches,
  type DeepReadonly,
  type KubeObject,
  type LabelRequirement,
} from '@multiplane/apimachinery';
import { listAt, objectAt, textAt, textsAt } from '../fields.ts';

/** One scope that a quota requires of what it counts. */
export interface ScopeRequirement {
  readonly scope: string;
  readonly operator: string;
  readonly values: readonly string[];
}

/** The requirements of `spec.scopes` and `spec.scopeSelector`; an object is counted if it meets all of them. */
export function scopeRequirements(quota: DeepReadonly<KubeObject>): readonly ScopeRequirement[] {
  const scopes = textsAt(quota, 'spec', 'scopes').map((scope) => ({ scope, operator: 'Exists', values: [] }));
  const selectors = listAt(objectAt(quota, 'spec', 'scopeSelector'), 'matchExpressions').map((expression) => ({
    scope: textAt(expression, 'scopeName'),
    operator: textAt(expression, 'operator'),
    values: textsAt(expression, 'values'),
  }));
  return [...scopes, ...selectors];
}

const operators: Readonly<Record<string, LabelRequirement['operator']>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
};

/** Whether one of the names meets the requirement, as the value of a label would; without names, no label. */
export function namesMatch({ scope, operator, values }: ScopeRequirement, names: readonly string[]): boolean {
  const matching = operators[operator];
  if (matching === undefined) return false;
  const requirement = { key: scope, operator: matching, values: [...values] };
  return names.length === 0
    ? requirementMatches(requirement, {})
    : names.some((name) => requirementMatches(requirement, { [scope]: name }));
}
