import { describe, expect, test } from '@jest/globals';
import type { LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import type { AdmissionAttributes } from '@multiplane/apiserver';
import type { WorkspaceType } from '@multiplane/controllers';
import { PathAnnotation } from './path-annotation.ts';
import { ReservedNames } from './reserved-names.ts';
import { WorkspaceTypeAdmission } from './workspace-type-admission.ts';

const ann: UserInfo = { name: 'ann', uid: '', groups: [], extra: {} };
const names = new ReservedNames();
const plugin = new WorkspaceTypeAdmission({
  // Users may bind `open` in any cluster, and `ours` in their own logical cluster.
  authorizer: {
    authorize: async ({ verb, deep, name, cluster }) => ({
      decision: verb === 'bind' && deep === true && (name === 'open' || cluster === 'here') ? 'allow' : 'noOpinion',
      reason: '',
    }),
  },
  resolvePath: (path) => (path === 'root:other' ? ('other' as LogicalClusterName) : undefined),
});

const type = (name: string, spec: WorkspaceType['spec'], metadata: WorkspaceType['metadata'] = {}): WorkspaceType => ({
  apiVersion: 'tenancy.kcp.io/v1alpha1',
  kind: 'WorkspaceType',
  metadata: { ...metadata, name },
  ...(spec === undefined ? {} : { spec }),
});
const attributesOf = (object: WorkspaceType, old?: WorkspaceType, cluster = 'here'): AdmissionAttributes =>
  ({
    operation: old === undefined ? 'CREATE' : 'UPDATE',
    definition: { group: 'tenancy.kcp.io', resource: 'workspacetypes' },
    cluster: cluster as LogicalClusterName,
    name: old === undefined ? '' : object.metadata.name,
    subresource: '',
    user: ann,
    object,
    oldObject: old,
  }) as unknown as AdmissionAttributes;

/** The reason of a rejection; undefined if admitted. */
async function refusal(object: WorkspaceType, old?: WorkspaceType, cluster?: string): Promise<string | undefined> {
  const attributes = attributesOf(object, old, cluster);
  try {
    await names.admit(attributes);
    await plugin.validate(attributes);
    return undefined;
  } catch (error) {
    return (error as Error).message.replace(/^workspacetypes\.tenancy\.kcp\.io "[^"]*" is forbidden: /, '');
  }
}
const binding = (path: string | undefined, name: string): WorkspaceType['spec'] => ({
  defaultAPIBindings: [{ export: name, ...(path === undefined ? {} : { path }) }],
});
const noBind = 'unable to create or update WorkspaceType: no permission to bind to export';

describe('a workspace type', () => {
  test('cannot have a reserved name', async () => {
    for (const name of ['any', 'system'])
      expect(await refusal(type(name, {}))).toBe(`metadata.name: Invalid value: "${name}": name is reserved`);
    expect(await refusal(type('root', {}))).toBe('root workspace type can only be created in root cluster');
    expect(await refusal(type('root', {}), undefined, 'root')).toBeUndefined();
  });

  test('needs a path in references to other types', async () => {
    expect(await refusal(type('a', { defaultChildWorkspaceType: { name: 'b' } }))).toBe(
      '.spec.defaultChildWorkspaceType.path must be set',
    );
    const half = { types: [{ name: 'b', path: 'root' }, { name: 'c' }] };
    expect(await refusal(type('a', { limitAllowedParents: half }))).toBe(
      '.spec.limitAllowedParents.types[1].path must be set',
    );
    expect(await refusal(type('a', { limitAllowedChildren: half }))).toBe(
      '.spec.limitAllowedChildren.types[1].path must be set',
    );
  });

  test('can only have default bindings that its author may bind', async () => {
    expect(await refusal(type('a', binding('root:other', 'open')))).toBeUndefined();
    expect(await refusal(type('a', binding(undefined, 'ours')))).toBeUndefined();
    expect(await refusal(type('a', binding('root:other', 'theirs')))).toBe(`${noBind} root:other:theirs`);
    expect(await refusal(type('a', binding('root:nosuch', 'open')))).toBe(`${noBind} root:nosuch:open`);
    // Unchanged bindings are not checked again.
    const old = type('a', binding('root:other', 'theirs'));
    expect(await refusal(type('a', { ...old.spec, initializer: true }), old)).toBeUndefined();
  });

  test('gets its path annotation, whatever the client sets', () => {
    const path = new PathAnnotation({ pathOf: () => 'root:org' });
    for (const annotations of [undefined, { 'kcp.io/path': 'root:else' }]) {
      const object = type('a', {}, annotations === undefined ? {} : { annotations });
      path.admit(attributesOf(object));
      expect(object.metadata.annotations).toEqual({ 'kcp.io/path': 'root:org' });
    }
    const changed = attributesOf(type('a', {}, { annotations: { 'kcp.io/path': 'root:else' } }));
    expect(() => path.validate(changed)).toThrow(
      'annotation for a, "kcp.io/path" must match canonical path "root:org", but got "root:else"',
    );
  });
});
