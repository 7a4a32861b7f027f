import { describe, expect, test } from '@jest/globals';
import type { LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import type { AdmissionAttributes, AuthorizationAttributes } from '@multiplane/apiserver';
import type { LogicalCluster, Workspace, WorkspaceType } from '@multiplane/controllers';
import { WorkspaceTypeExists } from './workspace-type-exists.ts';

const ann: UserInfo = { name: 'ann', uid: '', groups: [], extra: {} };
const universal = { name: 'universal', path: 'root' };

/** Types by path and name; each lives in the logical cluster that its path is called. */
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

/** What becomes of a new workspace, or why nothing does. */
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
  test('is the one its parent’s type gives to workspaces that name none', async () => {
    expect(await typeOf(undefined)).toEqual(universal);
    expect(await typeOf({ type: { name: '' } })).toEqual(universal);
  });

  test('is looked for from where the workspace is up to the root, and written down with its place', async () => {
    expect(await typeOf({ type: { name: 'mine' } })).toEqual({ name: 'mine', path: 'root:org' });
    expect(await typeOf({ type: { name: 'universal' } })).toEqual(universal);
    expect(await typeOf({ type: { name: 'nosuch' } })).toBe('workspace type "nosuch" cannot be resolved');
    expect(await typeOf({ type: { name: 'mine', path: 'root' } })).toBe(
      'Internal error occurred: workspacetypes.tenancy.kcp.io "root:mine" not found',
    );
  });

  test('gives its labels where the workspace has none of its own', async () => {
    const labels = { colour: 'blue', shape: 'round' };
    expect(await create({ type: universal })).toMatchObject({ metadata: { labels: { colour: 'red' } } });
    expect(await create({ type: universal }, { parentType: 'root:organization', labels })).toMatchObject({
      metadata: { labels },
    });
  });

  test('must be one that its creator may use, with all that it extends', async () => {
    expect(await typeOf({ type: { name: 'closed', path: 'root' } })).toBe(
      "unable to use workspace type root:closed: missing verb='use' permission on workspacetype",
    );
    expect(await typeOf({ type: { name: 'broken', path: 'root' } })).toBe(
      'unable to find inherited workspace type nosuch',
    );
  });

  test('cannot be told where the parent has none that is known', async () => {
    const annotation = 'annotation internal.tenancy.kcp.io/type on LogicalCluster';
    expect(await create(undefined, { parentType: undefined })).toBe(`${annotation} must be set`);
    expect(await create(undefined, { parentType: 'odd' })).toBe(`${annotation} must be in the form of cluster:name`);
    expect(await create(undefined, { parentType: 'root:gone' })).toBe(
      'parent type cannot be resolved: workspacetypes.tenancy.kcp.io "gone" not found',
    );
  });

  test('is none for a workspace that takes over another address', async () => {
    const mount = { ref: { apiVersion: 'a/v1', kind: 'B', name: 'c' } };
    expect(await typeOf({ mount })).toBeUndefined();
  });
});
