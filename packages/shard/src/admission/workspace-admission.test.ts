import { describe, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import type { AdmissionAttributes } from '@multiplane/apiserver';
import { ShardAdmission } from './shard-admission.ts';
import { WorkspaceAdmission } from './workspace-admission.ts';

const alice: UserInfo = { name: 'alice', uid: 'u-1', groups: ['team'], extra: {} };
const master: UserInfo = { name: 'root', uid: '', groups: ['system:masters'], extra: {} };
const requiredGroups = 'authorization.kcp.io/required-groups';
const owner = 'experimental.tenancy.kcp.io/owner';
const [chosenCluster, chosenShard] = ['internal.tenancy.kcp.io/cluster', 'core.kcp.io/shard'];
const finalizer = 'core.kcp.io/logicalcluster';

const object = (spec: Record<string, unknown> = {}, annotations: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'tenancy.kcp.io/v1alpha1',
  kind: 'Workspace',
  metadata: { name: 'w', annotations },
  spec,
});
const attributesOf = (
  resource: string,
  group: string,
  user: UserInfo,
  made: KubeObject,
  old?: KubeObject,
): AdmissionAttributes =>
  ({
    operation: old === undefined ? 'CREATE' : 'UPDATE',
    definition: { group, resource },
    cluster: 'parent' as LogicalClusterName,
    name: 'w',
    subresource: '',
    user,
    object: made,
    oldObject: old,
  }) as unknown as AdmissionAttributes;

/** A parent with required groups. */
const plugin = new WorkspaceAdmission({
  logicalCluster: () => ({
    apiVersion: '',
    kind: '',
    metadata: { annotations: { [requiredGroups]: 'team' } },
  }),
});

/** The admitted workspace, or the reason of its rejection. */
async function write(user: UserInfo, made: KubeObject, old?: KubeObject): Promise<KubeObject | string> {
  const attributes = attributesOf('workspaces', 'tenancy.kcp.io', user, made, old);
  try {
    await plugin.admit(attributes);
    await plugin.validate(attributes);
    return made;
  } catch (error) {
    return (error as Error).message.replace('workspaces.tenancy.kcp.io "w" is forbidden: ', '');
  }
}

describe('a new workspace', () => {
  test('records its creator and inherits required groups, whatever the client sets', async () => {
    const made = await write(alice, object({}, { [owner]: 'somebody else', [requiredGroups]: 'nobody' }));
    const { annotations } = (made as KubeObject).metadata;
    expect(JSON.parse(annotations?.[owner] ?? '')).toEqual({ username: 'alice', uid: 'u-1', groups: ['team'] });
    expect(annotations?.[requiredGroups]).toBe('team');
  });

  test('drops scheduling annotations of the client', async () => {
    const placed = {
      [chosenCluster]: 'system:admin',
      [chosenShard]: 'other',
      'internal.tenancy.kcp.io/shard': 'x',
      a: 'b',
    };
    const made = (await write(alice, object({}, placed))) as KubeObject;
    expect(Object.keys(made.metadata.annotations ?? {})).toEqual(['a', owner, requiredGroups]);
    const byTheSystem = (await write(master, object({}, placed))) as KubeObject;
    expect(byTheSystem.metadata.annotations).toMatchObject(placed);

    const attributes = attributesOf('workspaces', 'tenancy.kcp.io', alice, object());
    await plugin.admit(attributes);
    (attributes.object as KubeObject).metadata.annotations = { ...made.metadata.annotations, [chosenCluster]: 'root' };
    await expect(plugin.validate(attributes)).rejects.toThrow(
      'annotation internal.tenancy.kcp.io/cluster can only be changed by system privileged users',
    );
  });

  test('of a privileged user keeps its required groups and gets no owner', async () => {
    const made = (await write(master, object({}, { [requiredGroups]: 'other' }))) as KubeObject;
    expect(made.metadata.annotations).toEqual({ [requiredGroups]: 'other' });
  });

  test('is rejected if a webhook changes owner or required groups', async () => {
    const made = object();
    const attributes = attributesOf('workspaces', 'tenancy.kcp.io', alice, made);
    await plugin.admit(attributes);
    made.metadata.annotations = { ...made.metadata.annotations, [requiredGroups]: 'nobody' };
    await expect(plugin.validate(attributes)).rejects.toThrow(
      'missing required groups annotation authorization.kcp.io/required-groups=team',
    );
    delete made.metadata.annotations[owner];
    await expect(plugin.validate(attributes)).rejects.toThrow('expected user annotation');
  });

  const ref = { apiVersion: 'a/v1', kind: 'B', name: 'c' };
  test.each([
    [{ cluster: 'x' }, 'spec.Cluster can only be set by system privileged users'],
    [{ URL: 'https://x' }, 'spec.URL can only be set by system privileged users'],
    [{ mount: { ref: { ...ref, kind: undefined } } }, 'spec.mount.kind must be set'],
    [{ mount: { ref: { ...ref, apiVersion: '' } } }, 'spec.mount.apiVersion must be set'],
    [{ mount: {} }, 'spec.mount.kind must be set'],
    [{ mount: { ref }, type: { name: 'x' } }, 'spec.type cannot be set for mounted workspaces'],
  ])('with %j is refused', async (spec, why) => {
    expect(await write(alice, object(spec))).toBe(why);
  });

  test('with empty texts that only the system sets has none', async () => {
    const made = (await write(alice, object({ cluster: '', URL: '' }))) as unknown as { spec: object };
    expect(made.spec).toEqual({});
  });

  test('with absent required texts gets empty ones, which schema validation and the validating stage refuse', async () => {
    const made = object({ type: { path: 'root' }, mount: { ref: { kind: 'B' } } });
    const attributes = attributesOf('workspaces', 'tenancy.kcp.io', alice, made);
    await plugin.admit(attributes);
    expect((attributes.object as unknown as { spec: object }).spec).toEqual({
      type: { path: 'root', name: '' },
      mount: { ref: { apiVersion: '', kind: 'B', name: '' } },
    });
    await expect(plugin.validate(attributes)).rejects.toThrow('spec.mount.name must be set');
  });

  test('with a mount that is not an object is left to schema validation', async () => {
    for (const mount of [null, 'text', []]) {
      const attributes = attributesOf('workspaces', 'tenancy.kcp.io', alice, object({ mount }));
      await expect(plugin.admit(attributes)).resolves.toBeUndefined();
    }
  });
});

describe('a workspace', () => {
  const mount = { ref: { apiVersion: 'a/v1', kind: 'B', name: 'c' } };
  const stored = { cluster: 'abc', URL: 'https://x', type: { name: 'universal', path: 'root' } };
  test.each([
    [stored, { ...stored, cluster: undefined }, 'spec.cluster cannot be unset'],
    [stored, { ...stored, cluster: '' }, 'spec.cluster cannot be unset'],
    [stored, { ...stored, cluster: 'other' }, 'spec.cluster can only be changed by system privileged users'],
    [stored, { ...stored, URL: 'https://y' }, 'spec.URL can only be changed by system privileged users'],
    [stored, { ...stored, type: { name: 'other' } }, 'spec.type: Invalid value: {"name":"other"}: field is immutable'],
    [stored, { ...stored, type: undefined }, 'spec.type: Invalid value: null: field is immutable'],
    [stored, { ...stored, mount }, 'spec.mount can only be set when the workspace is created'],
    [{ ...stored, mount }, { ...stored, mount }, 'spec.mount can only be set when the workspace is created'],
    [{ mount }, {}, 'spec.mount.kind is immutable'],
    [{ mount }, { mount: null }, 'spec.mount.kind is immutable'],
    [{ mount }, { mount: { ref: { ...mount.ref, kind: 'D' } } }, 'spec.mount.kind is immutable'],
    [{ mount }, { mount: { ref: { ...mount.ref, namespace: 'd' } } }, 'spec.mount.namespace is immutable'],
    [{ mount }, { mount, type: { name: 'x' } }, 'spec.type cannot be set for mounted workspaces'],
  ])('of %j does not become %j', async (before, after, why) => {
    expect(await write(alice, object(after), object(before))).toBe(why);
  });

  test('can lose a mount beside its logical cluster', async () => {
    expect(await write(alice, object(stored), object({ ...stored, mount }))).toMatchObject({ spec: stored });
  });

  const said = {
    [owner]: '{"username":"alice"}',
    [requiredGroups]: 'team',
    [chosenCluster]: 'abc',
    [chosenShard]: 'one',
  };
  const scheduled = (): KubeObject => {
    const workspace = object(stored, { ...said, color: 'red' });
    workspace.metadata.finalizers = [finalizer];
    return workspace;
  };

  test('keeps system annotations, whatever its owner writes, through any subresource', async () => {
    for (const annotations of [
      { color: 'blue' },
      { color: 'blue', ...said, [owner]: '{"username":"bob","groups":["system:masters"]}' },
      { color: 'blue', ...said, [requiredGroups]: '', [chosenCluster]: 'root', 'internal.tenancy.kcp.io/shard': 'x' },
    ])
      for (const subresource of ['', 'status']) {
        const attributes = attributesOf(
          'workspaces',
          'tenancy.kcp.io',
          alice,
          object(stored, annotations),
          scheduled(),
        );
        Object.assign(attributes, { subresource });
        await plugin.admit(attributes);
        await plugin.validate(attributes);
        expect(attributes.object?.metadata).toMatchObject({ finalizers: [finalizer] });
        expect(attributes.object?.metadata.annotations).toEqual({ ...said, color: 'blue' });
      }
    // Privileged users can change them.
    const moved = object(stored, { ...said, [chosenCluster]: 'def' });
    expect(await write(master, moved, scheduled())).toMatchObject({
      metadata: { annotations: { [chosenCluster]: 'def' } },
    });
    expect(moved.metadata.finalizers).toBeUndefined();
  });

  test('is rejected if a webhook changes system annotations or removes the finalizer', async () => {
    const attributes = attributesOf('workspaces', 'tenancy.kcp.io', alice, scheduled(), scheduled());
    await plugin.admit(attributes);
    (attributes.object as KubeObject).metadata.annotations = { ...said, [owner]: '{"username":"bob"}' };
    await expect(plugin.validate(attributes)).rejects.toThrow(`annotation ${owner} can only be changed by system`);

    const going = { ...scheduled(), metadata: { ...scheduled().metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    const letGo = { ...going, metadata: { ...going.metadata, finalizers: [] } };
    expect(await write(alice, letGo, going)).toBe(`removing the finalizer ${finalizer} is forbidden`);
    expect(await write(master, letGo, going)).toBe(letGo);
  });

  test('needs cluster and URL to become Ready', async () => {
    const ready = { ...object(), status: { phase: 'Ready' } };
    expect(await write(master, ready, object())).toBe('spec.cluster must be set for phase Ready');
  });
});

describe('a shard', () => {
  const admit = async (spec: Record<string, unknown>): Promise<unknown> => {
    const shard: KubeObject = { ...object(spec), kind: 'Shard' };
    await new ShardAdmission().admit(attributesOf('shards', 'core.kcp.io', master, shard));
    return shard['spec'];
  };

  test('defaults its URLs to the base URL', async () => {
    const baseURL = 'https://base';
    expect(await admit({ baseURL, externalURL: '' })).toEqual({
      baseURL,
      externalURL: baseURL,
      virtualWorkspaceURL: baseURL,
    });
    expect(await admit({ baseURL, externalURL: 'https://out' })).toMatchObject({ externalURL: 'https://out' });
  });

  test('without a base URL is an untyped error', async () => {
    await expect(admit({})).rejects.toMatchObject({ message: 'spec.baseURL is required', code: 500 });
  });
});
