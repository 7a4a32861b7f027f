import { describe, expect, test } from '@jest/globals';
import type { UserInfo } from '@multiplane/apimachinery';
import type { AdmissionAttributes } from '@multiplane/apiserver';
import type { LogicalCluster } from '@multiplane/controllers';
import { LogicalClusterAdmission } from './logical-cluster-admission.ts';

const admin: UserInfo = { name: 'ann', uid: '', groups: ['system:authenticated'], extra: {} };
const system: UserInfo = { name: 'controller', uid: '', groups: ['system:masters'], extra: {} };
const plugin = new LogicalClusterAdmission();
const guard = 'core.kcp.io/logicalcluster-deletion';

const stored = (): LogicalCluster => ({
  apiVersion: 'core.kcp.io/v1alpha1',
  kind: 'LogicalCluster',
  metadata: {
    name: 'cluster',
    finalizers: [guard],
    labels: { 'initializer.internal.kcp.io/abc': 'abcdef', mine: 'yes' },
    annotations: { 'kcp.io/path': 'root:w', 'internal.tenancy.kcp.io/type': 'root:universal' },
  },
  spec: { createdBy: { username: 'ann' }, initializers: ['a:one', 'a:two'], terminators: ['a:end'] },
  status: { phase: 'Ready', terminators: ['a:end'] },
});

/** The admitted object, or the reason of its rejection. */
async function change(
  make: (object: LogicalCluster) => void,
  { user = admin, from = stored() }: { user?: UserInfo; from?: LogicalCluster } = {},
): Promise<LogicalCluster | string> {
  const object = structuredClone(from);
  make(object);
  const attributes = {
    operation: 'UPDATE',
    definition: { group: 'core.kcp.io', resource: 'logicalclusters' },
    name: 'cluster',
    subresource: '',
    user,
    object,
    oldObject: from,
  } as unknown as AdmissionAttributes;
  try {
    await plugin.admit(attributes);
    await plugin.validate(attributes);
    return object;
  } catch (error) {
    return (error as Error).message.replace('logicalclusters.core.kcp.io "cluster" is forbidden: ', '');
  }
}

describe('the admin of a workspace', () => {
  test.each<[what: string, make: (object: LogicalCluster) => void, why: string]>([
    [
      'who made it',
      ({ spec }) => void (spec!.createdBy = { uid: '1', groups: ['a'], username: 'bob' }),
      'spec.createdBy: Invalid value: {"username":"bob","groups":["a"],"uid":"1"}: field is immutable',
    ],
    ['who initializes it', ({ spec }) => void (spec!.initializers = []), 'spec.initializers is immutable'],
    ['who ends it', ({ spec }) => void (spec!.terminators = []), 'spec.terminators is immutable'],
    [
      'that it goes with its Workspace only',
      ({ spec }) => void (spec!.directlyDeletable = true),
      'spec.directlyDeletable can only be changed by system privileged users',
    ],
    [
      'who still has to end it',
      ({ status }) => void (status!.terminators = []),
      'status.terminators can only be changed by system privileged users',
    ],
    [
      'that it was initialized',
      ({ status }) => void (status!.phase = 'Initializing'),
      'cannot transition from "Ready" to "Initializing"',
    ],
    [
      'where it is',
      ({ metadata }) => void (metadata.annotations!['kcp.io/path'] = 'root:other'),
      'annotation kcp.io/path can only be changed by system privileged users',
    ],
    [
      'of what type it is',
      ({ metadata }) => void delete metadata.annotations!['internal.tenancy.kcp.io/type'],
      'annotation internal.tenancy.kcp.io/type can only be changed by system privileged users',
    ],
    [
      'that nothing but its Workspace takes it along: the garbage collector may do what its admin may not',
      ({ metadata }) =>
        void (metadata.ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid: 'u-1' }]),
      'metadata.ownerReferences can only be changed by system privileged users',
    ],
    [
      'whom it admits',
      ({ metadata }) => void (metadata.annotations!['authorization.kcp.io/required-groups'] = 'mine'),
      'annotation authorization.kcp.io/required-groups can only be changed by system privileged users',
    ],
    [
      'who has the names of resources',
      ({ metadata }) => void (metadata.annotations!['internal.apis.kcp.io/resource-bindings'] = '{}'),
      'annotation internal.apis.kcp.io/resource-bindings can only be changed by system privileged users',
    ],
  ])('cannot change %s', async (_what, make, why) => {
    expect(await change(make)).toBe(why);
    expect(await change(make, { user: system })).toMatchObject({ kind: 'LogicalCluster' });
  });

  test('cannot set lifecycle labels', async () => {
    const changed = await change(({ metadata }) => {
      metadata.labels = { 'initializer.internal.kcp.io/def': 'defabc', mine: 'no', 'tenancy.kcp.io/phase': 'Odd' };
    });
    expect((changed as LogicalCluster).metadata.labels).toEqual({
      mine: 'no',
      'tenancy.kcp.io/phase': 'Odd',
      'initializer.internal.kcp.io/abc': 'abcdef',
    });
  });

  test('cannot take the finalizer that guards its content', async () => {
    const changed = await change(({ metadata }) => void (metadata.finalizers = []));
    expect((changed as LogicalCluster).metadata.finalizers).toEqual([guard]);
    const deleted = stored();
    deleted.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
    expect(await change(({ metadata }) => void (metadata.finalizers = []), { from: deleted })).toBe(
      `removing the finalizer ${guard} is forbidden`,
    );
  });
});

describe('initialization', () => {
  const scheduled = (): LogicalCluster => ({ ...stored(), status: { phase: 'Scheduling' } });
  const initializing = (): LogicalCluster => ({
    ...stored(),
    status: { phase: 'Initializing', initializers: ['a:one', 'a:two'], terminators: ['a:end'] },
  });

  test('starts with the initializers of the spec', async () => {
    const begun = await change(({ status }) => void (status!.phase = 'Initializing'), {
      user: system,
      from: scheduled(),
    });
    expect((begun as LogicalCluster).status).toEqual(initializing().status);
  });

  test('can only remove initializers, and ends without any', async () => {
    const from = initializing();
    const less = await change(({ status }) => void (status!.initializers = ['a:two']), { from });
    expect((less as LogicalCluster).status?.initializers).toEqual(['a:two']);
    expect(await change(({ status }) => void (status!.initializers = ['a:one', 'a:new']), { from })).toBe(
      'status.initializers must not grow',
    );
    expect(await change(({ status }) => void (status!.phase = 'Ready'), { from })).toBe(
      'status.initializers is not empty',
    );
  });
});
