import { describe, expect, test } from '@jest/globals';
import type { WorkspaceType } from './kinds.ts';
import {
  lifecycleOf,
  qualifiedTypeName,
  resolveTypeClosure,
  type WorkspaceTypeLookup,
} from './workspace-type-closure.ts';

/** Types of the logical cluster `c` at `root:org`, by name. */
function typesOf(
  specs: Record<string, WorkspaceType['spec']>,
): WorkspaceTypeLookup & { named(name: string): WorkspaceType } {
  const named = (name: string): WorkspaceType => ({
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'WorkspaceType',
    metadata: { name, annotations: { 'kcp.io/cluster': 'c', 'kcp.io/path': 'root:org' } },
    ...(specs[name] === undefined ? {} : { spec: specs[name] }),
  });
  return {
    named,
    byPathAndName: (path, name) => (path === 'root:org' && Object.hasOwn(specs, name) ? named(name) : undefined),
  };
}
const extending = (...names: string[]): { with: { name: string; path: string }[] } => ({
  with: names.map((name) => ({ name, path: 'root:org' })),
});
const closureOf = (specs: Record<string, WorkspaceType['spec']>, name: string): string[] => {
  const types = typesOf(specs);
  return resolveTypeClosure(types, types.named(name)).map(qualifiedTypeName);
};

describe('a workspace type', () => {
  test('is resolved with its bases first, each once', () => {
    const specs = {
      base: {},
      left: { extend: extending('base') },
      right: { extend: extending('base') },
      top: { extend: extending('left', 'right') },
    };
    expect(closureOf(specs, 'top')).toEqual(['root:org:base', 'root:org:left', 'root:org:right', 'root:org:top']);
  });

  test('with a missing base is rejected', () => {
    expect(() => closureOf({ a: { extend: extending('b') } }, 'a')).toThrow(
      'unable to find inherited workspace type b',
    );
  });

  test('with circular extension is rejected', () => {
    expect(() => closureOf({ a: { extend: extending('b') }, b: { extend: extending('a') } }, 'a')).toThrow(
      'circular dependency detected in workspace type root:org:a: root:org:a -> root:org:b',
    );
  });

  test('gives its initializers, that of default bindings last, and its terminators', () => {
    const specs = {
      base: { initializer: true, defaultAPIBindings: [{ export: 'e' }] },
      top: { initializer: true, terminator: true, extend: extending('base') },
    };
    const types = typesOf(specs);
    expect(lifecycleOf(resolveTypeClosure(types, types.named('top')))).toEqual({
      initializers: ['c:base', 'c:top', 'system:apibindings'],
      terminators: ['c:top'],
    });
  });
});
