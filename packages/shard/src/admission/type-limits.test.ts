import { describe, expect, test } from '@jest/globals';
import type { WorkspaceType } from '@multiplane/controllers';
import { limitProblem } from './type-limits.ts';

const type = (name: string, spec: WorkspaceType['spec'] = {}): WorkspaceType => ({
  apiVersion: 'tenancy.kcp.io/v1alpha1',
  kind: 'WorkspaceType',
  metadata: { name, annotations: { 'kcp.io/path': 'root' } },
  spec,
});
const refs = (...names: string[]): { types: { name: string; path: string }[] } => ({
  types: names.map((name) => ({ name, path: 'root' })),
});
const universal = type('universal');

describe('a child workspace', () => {
  test('can be of any type without limits', () => {
    expect(limitProblem([universal, type('child')], [universal, type('parent')])).toBeUndefined();
  });

  test('is allowed by a type that the other type extends', () => {
    const organization = [universal, type('organization', { limitAllowedChildren: refs('universal') })];
    expect(limitProblem([universal, type('child')], organization)).toBeUndefined();
    expect(limitProblem([type('child')], organization)).toBe(
      'workspace type root:organization only allows [root:universal] child workspaces, but child type root:child only implements [root:child]',
    );
  });

  test('is subject to the limits of the types that its type extends', () => {
    const base = type('base', { limitAllowedParents: refs('root', 'home') });
    expect(limitProblem([base, type('child')], [universal, type('parent')])).toBe(
      'workspace type root:child extends root:base, which only allows [root:home root:root] parent workspaces, but parent type root:parent only implements [root:parent root:universal]',
    );
  });

  test('is rejected if a type allows none', () => {
    expect(limitProblem([type('home', { limitAllowedParents: { none: true } })], [universal])).toBe(
      'workspace type root:home cannot have any parent',
    );
    expect(limitProblem([universal], [type('leaf', { limitAllowedChildren: { none: true } })])).toBe(
      'workspace type root:leaf cannot have any child',
    );
  });
});
