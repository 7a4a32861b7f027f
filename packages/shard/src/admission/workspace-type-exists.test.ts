import { describe, expect, test } from '@jest/globals';
import type { LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import type { AdmissionAttributes } from '@multiplane/apiserver';
import type { LogicalCluster, Workspace, WorkspaceType } from '@multiplane/controllers';
import type { AuthorizationAttributes } from '@multiplane/generic-server';
import { WorkspaceTypeExists } from './workspace-type-exists.ts';

const ann: UserInfo = { name: 'ann', uid: '', groups: [], extra: {} };
const universal = { name: 'universal', path: 'root' };

/** Types by path and name; the logical cluster of each is named after its path. */
const types: Record<string, WorkspaceType['spec']> = {
  'root:universal': { additionalWorkspaceLabels: { colour: 'red' } },
  'root:organization': { extend: { with: [universal] }, defaultChildWorkspaceType: universal },
  'root:org:mine': { extend: { with: [universal] } },
  'root:closed': {},
  'root:broken': { extend: { with: [{ name: 'nosuch', path: 'root' }] } },
};

const plugin = (parentType: string | undefined): WorkspaceTypeExists =>
  new WorkspaceTypeExists({
    authorizer: {
      authorize: async ({ verb, deep, name }: AuthorizationAttributes) => ({
        decision: verb === 'use' && deep === true && name !== 'closed' ? 'allow' : 'noOpinion',
        reason: '',
      }),
    },
    types: {
      byPathAndName: (path, name) => {
        const spec = types[`${path}:${name}`];
        if (spec === undefined) return undefined;
        const annotations = { 'kcp.io/path': path, 'kcp.io/cluster': path.replaceAll(':', '-') };
        return { apiVersion: '', kind: 'WorkspaceType', metadata: { name, annotations }, spec };
      },
    },
    logicalCluster: () =>
      ({
        metadata: { annotations: parentType === undefined ? {} : { 'internal.tenancy.kcp.io/type': parentType } },
      }) as LogicalCluster,
    pathOf: () => 'root:org:team',
  });

/** The admitted workspace, or the reason of its rejection. */
async function create(
  spec: Workspace['spec'] | undefined,
  { parentType, labels }: { parentType?: string | undefined; labels?: Record<string, string> } = {
    parentType: 'root:organization',
  },
): Promise<Workspace | string> {
  const object: Workspace = {
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'Workspace',
    metadata: { name: 'w', ...(labels === undefined ? {} : { labels }) },
    ...(spec === undefined ? {} : { spec }),
  };
  const attributes = {
    operation: 'CREATE',
    definition: { group: 'tenancy.kcp.io', resource: 'workspaces' },
    cluster: 'here' as LogicalClusterName,
    name: '',
    subresource: '',
    user: ann,
    object,
  } as unknown as AdmissionAttributes;
  const exists = plugin(parentType);
  try {
    await exists.admit(attributes);
    await exists.validate(attributes);
    return object;
  } catch (error) {
    return (error as Error).message.replace('workspaces.tenancy.kcp.io "w" is forbidden: ', '');
  }
}
const typeOf = async (spec: Workspace['spec'] | undefined): Promise<unknown> => {
  const made = await create(spec);
  return typeof made === 'string' ? made : made.spec?.type;
};

describe('the type of a new workspace', () => {
  test('defaults to the default child type of the parent', async () => {
    expect(await typeOf(undefined)).toEqual(universal);
    expect(await typeOf({ type: { name: '' } })).toEqual(universal);
  });

  test('is looked up from the cluster to root, and stored with its path', async () => {
    expect(await typeOf({ type: { name: 'mine' } })).toEqual({ name: 'mine', path: 'root:org' });
    expect(await typeOf({ type: { name: 'universal' } })).toEqual(universal);
    expect(await typeOf({ type: { name: 'nosuch' } })).toBe('workspace type "nosuch" cannot be resolved');
    expect(await typeOf({ type: { name: 'mine', path: 'root' } })).toBe(
      'Internal error occurred: workspacetypes.tenancy.kcp.io "root:mine" not found',
    );
  });

  test.each([5, 'x', [], { type: 5 }, { type: { name: 5 } }, { type: { name: 'mine', path: {} } }])(
    'is left to the schema in %j',
    async (spec) => {
      const object = { metadata: { name: 'w' }, spec } as unknown as Workspace;
      const attributes = {
        definition: { group: 'tenancy.kcp.io', resource: 'workspaces' },
        subresource: '',
        object,
      } as unknown as AdmissionAttributes;
      await plugin('root:organization').admit(attributes);
      expect(object.spec).toEqual(spec);
    },
  );

  test('adds its labels unless the workspace sets them', async () => {
    const labels = { colour: 'blue', shape: 'round' };
    expect(await create({ type: universal })).toMatchObject({ metadata: { labels: { colour: 'red' } } });
    expect(await create({ type: universal }, { parentType: 'root:organization', labels })).toMatchObject({
      metadata: { labels },
    });
  });

  test('needs the use permission on the type and all types that it extends', async () => {
    expect(await typeOf({ type: { name: 'closed', path: 'root' } })).toBe(
      "unable to use workspace type root:closed: missing verb='use' permission on workspacetype",
    );
    expect(await typeOf({ type: { name: 'broken', path: 'root' } })).toBe(
      'unable to find inherited workspace type nosuch',
    );
  });

  test('cannot be resolved if the parent has no known type', async () => {
    const annotation = 'annotation internal.tenancy.kcp.io/type on LogicalCluster';
    expect(await create(undefined, { parentType: undefined })).toBe(`${annotation} must be set`);
    expect(await create(undefined, { parentType: 'odd' })).toBe(`${annotation} must be in the form of cluster:name`);
    expect(await create(undefined, { parentType: 'root:gone' })).toBe(
      'parent type cannot be resolved: workspacetypes.tenancy.kcp.io "gone" not found',
    );
  });

  test('is empty for a mounted workspace', async () => {
    const mount = { ref: { apiVersion: 'a/v1', kind: 'B', name: 'c' } };
    expect(await typeOf({ mount })).toBeUndefined();
  });
});
