import { beforeEach, describe, expect, test } from '@jest/globals';
import { asLogicalClusterName, type KubeObject, type LogicalClusterName } from '@multiplane/apimachinery';
import type { Informer, InformerFactory, InformerHandlers, ObjectReference } from '@multiplane/client';
import { RbacAuthorizer } from './rbac-authorizer.ts';
import { RbacSource } from './rbac-source.ts';

const bootstrap = asLogicalClusterName('system:admin');
const a = asLogicalClusterName('a');
const b = asLogicalClusterName('b');

/** An informer of one resource whose handlers are called like those of a cache. */
class FakeInformer implements Informer {
  readonly synced = Promise.resolve();
  readonly #objects = new Map<string, { object: KubeObject; reference: ObjectReference }>();
  readonly #handlers: InformerHandlers[] = [];

  put(cluster: LogicalClusterName, namespace: string, name: string, rest: Record<string, unknown>): void {
    const reference = { cluster, namespace, name };
    const old = this.get(reference);
    const object = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'x',
      metadata: { name, ...(namespace === '' ? {} : { namespace }) },
      ...rest,
    };
    this.#objects.set(keyOf(reference), { object, reference });
    for (const handlers of this.#handlers) {
      if (old === undefined) handlers.added?.(object, reference);
      else handlers.updated?.(object, old, reference);
    }
  }
  remove(cluster: LogicalClusterName, namespace: string, name: string): void {
    const reference = { cluster, namespace, name };
    const old = this.get(reference) as KubeObject;
    this.#objects.delete(keyOf(reference));
    for (const handlers of this.#handlers) handlers.deleted?.(old, reference);
  }
  get(reference: ObjectReference): KubeObject | undefined {
    return this.#objects.get(keyOf(reference))?.object;
  }
  list(scope: { cluster?: LogicalClusterName | undefined } = {}): never[] {
    return [...this.#objects.values()]
      .filter(({ reference }) => reference.cluster === scope.cluster)
      .map(({ object }) => object) as never[];
  }
  addHandlers(handlers: InformerHandlers): () => void {
    this.#handlers.push(handlers);
    return () => undefined;
  }
}
const keyOf = ({ cluster, namespace, name }: ObjectReference): string => `${cluster}/${namespace}/${name}`;

const names = ['clusterroles', 'roles', 'clusterrolebindings', 'rolebindings'] as const;
let objects: Record<(typeof names)[number], FakeInformer>;
let authorizer: RbacAuthorizer;
beforeEach(() => {
  objects = Object.fromEntries(names.map((name) => [name, new FakeInformer()])) as typeof objects;
  const informers = {
    informer: ({ resource }: { resource: (typeof names)[number] }) => objects[resource],
  } as unknown as InformerFactory;
  authorizer = new RbacAuthorizer({ bootstrapCluster: bootstrap }, { source: new RbacSource({ informers }) });
});

const reader = { rules: [{ verbs: ['get'], apiGroups: [''], resources: ['configmaps'] }] };
const toAlice = (role: string, kind = 'ClusterRole'): Record<string, unknown> => ({
  subjects: [{ kind: 'User', name: 'alice' }],
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: role },
});

async function may(
  cluster: LogicalClusterName,
  change: { namespace?: string; name?: string; user?: string; groups?: string[]; verb?: string } = {},
): Promise<string> {
  const { decision, reason } = await authorizer.authorize({
    user: { name: change.user ?? 'alice', uid: '', groups: change.groups ?? [], extra: {} },
    cluster,
    verb: change.verb ?? 'get',
    isResourceRequest: true,
    group: '',
    version: 'v1',
    namespace: change.namespace ?? 'n',
    resource: 'configmaps',
    subresource: '',
    name: change.name ?? 'x',
    path: '',
  });
  return decision === 'allow' ? 'yes' : `no ${reason}`.trim();
}

describe('a cached decision is invalidated by a change of RBAC', () => {
  test('a binding is created and deleted', async () => {
    objects.clusterroles.put(a, '', 'reader', reader);
    expect(await may(a)).toBe('no');
    objects.rolebindings.put(a, 'n', 'rb', toAlice('reader'));
    expect([await may(a), await may(a), await may(a, { namespace: 'other' })]).toEqual(['yes', 'yes', 'no']);
    objects.rolebindings.remove(a, 'n', 'rb');
    expect(await may(a)).toBe('no');
  });

  test('a role is created, updated and deleted', async () => {
    objects.clusterrolebindings.put(a, '', 'crb', toAlice('reader'));
    expect(await may(a)).toBe('no RBAC: clusterrole.rbac.authorization.k8s.io "reader" not found');
    objects.clusterroles.put(a, '', 'reader', reader);
    expect(await may(a)).toBe('yes');
    objects.clusterroles.put(a, '', 'reader', { rules: [] });
    expect(await may(a)).toBe('no');
    objects.clusterroles.remove(a, '', 'reader');
    expect(await may(a)).toBe('no RBAC: clusterrole.rbac.authorization.k8s.io "reader" not found');
  });

  test('a namespaced role is updated', async () => {
    objects.roles.put(a, 'n', 'reader', reader);
    objects.rolebindings.put(a, 'n', 'rb', toAlice('reader', 'Role'));
    expect(await may(a)).toBe('yes');
    objects.roles.put(a, 'n', 'reader', { rules: [] });
    expect(await may(a)).toBe('no');
  });

  test('the bootstrap policy is updated', async () => {
    expect([await may(a), await may(b)]).toEqual(['no', 'no']);
    objects.clusterroles.put(bootstrap, '', 'reader', reader);
    objects.clusterrolebindings.put(bootstrap, '', 'crb', toAlice('reader'));
    expect([await may(a), await may(b)]).toEqual(['yes', 'yes']);
    objects.clusterrolebindings.remove(bootstrap, '', 'crb');
    expect([await may(a), await may(b)]).toEqual(['no', 'no']);
  });
});

test('decisions of different requests are not mixed up', async () => {
  objects.clusterroles.put(a, '', 'reader', { rules: [{ ...reader.rules[0], resourceNames: ['x'] }] });
  objects.clusterrolebindings.put(a, '', 'crb', toAlice('reader'));
  expect(await may(a)).toBe('yes');
  expect(await may(b)).toBe('no');
  expect(await may(a, { name: 'y' })).toBe('no');
  expect(await may(a, { user: 'bob' })).toBe('no');
  expect(await may(a, { verb: 'update' })).toBe('no');
  expect(await may(a, { user: '', groups: ['alice'] })).toBe('no');
  expect(await may(a, { user: 'alice","' })).toBe('no');
  // Names that imitate the cache key of another request.
  expect(await may(a, { user: 'alice0;' })).toBe('no');
  expect(await may(a, { user: 'bob', groups: ['5:alice0;'] })).toBe('no');
  expect(await may(a, { namespace: 'n10:configmaps', name: '' })).toBe('no');
});

test('the rules of a binding are listed once, however many of its subjects the user is', async () => {
  const subjects = ['team', 'staff'].map((name) => ({ kind: 'Group', name }));
  objects.clusterroles.put(a, '', 'reader', reader);
  objects.clusterrolebindings.put(a, '', 'crb', { ...toAlice('reader'), subjects });
  const user = { name: 'alice', uid: '', groups: ['team', 'staff'], extra: {} };
  expect((await authorizer.rulesFor(user, a, 'n')).resourceRules).toEqual(reader.rules);
  objects.clusterrolebindings.put(a, '', 'other', toAlice('reader'));
  expect((await authorizer.rulesFor(user, a, 'n')).resourceRules).toEqual([...reader.rules, ...reader.rules]);
});
