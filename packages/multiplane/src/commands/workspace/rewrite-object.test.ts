import { describe, expect, test } from '@jest/globals';
import type { KubeObject } from '@multiplane/apimachinery';
import { newClusterName, newUid, ObjectRewriter, type Relocation } from './rewrite-object.ts';

const id = '0123456789abcdef';
const old = '1dcbqnqfhgxpndgd';
const uid = '28c6bc8f-bee9-49e0-8e9c-86d7b2e2e1c6';
const kept: Relocation = {
  id,
  from: 'root:team-a',
  to: 'root:team-a',
  shard: 'shard-1',
  clusters: new Map(),
  uids: new Set(),
  identities: new Map([['a'.repeat(64), 'b'.repeat(64)]]),
};
const moved: Relocation = {
  ...kept,
  to: 'root:other:copy',
  clusters: new Map([[old, newClusterName(id, old)]]),
  uids: new Set([uid]),
};

const rewritten = (relocation: Relocation, object: object): KubeObject =>
  JSON.parse(new ObjectRewriter(relocation).object(Buffer.from(JSON.stringify(object))).toString()) as KubeObject;

describe('a rewritten object', () => {
  test('keeps its bytes if nothing in it changes, numbers included', () => {
    const bytes = Buffer.from(
      `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","uid":"${uid}"},"data":{"path":"root:team-a","n":12345678901234567890}}`,
    );
    expect(new ObjectRewriter(kept).object(bytes)).toBe(bytes);
  });

  test('of a tenant has new uids and logical clusters in its metadata, and its own fields as they were', () => {
    const data = { path: 'root:team-a', cluster: old, uid };
    const object = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'a',
        uid,
        annotations: { 'kcp.io/cluster': old, note: `see root:team-a:b, not root:team-ab or x${old}` },
        ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'b', uid }],
      },
      data,
    };
    expect(rewritten(moved, object)).toEqual({
      ...object,
      metadata: {
        name: 'a',
        uid: newUid(id, uid),
        annotations: {
          'kcp.io/cluster': newClusterName(id, old),
          note: `see root:other:copy:b, not root:team-ab or x${old}`,
        },
        ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'b', uid: newUid(id, uid) }],
      },
    });
  });

  test('of kcp and of RBAC has them everywhere', () => {
    const binding = rewritten(moved, {
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIBinding',
      metadata: { name: 'a' },
      spec: { reference: { export: { path: 'root:team-a:api', name: 'x' } } },
      status: { apiExportClusterName: old, boundResources: [{ schema: { identityHash: 'a'.repeat(64), UID: uid } }] },
    });
    expect(binding).toMatchObject({
      spec: { reference: { export: { path: 'root:other:copy:api', name: 'x' } } },
      status: {
        apiExportClusterName: newClusterName(id, old),
        boundResources: [{ schema: { identityHash: 'b'.repeat(64), UID: newUid(id, uid) } }],
      },
    });
    const subjects = rewritten(moved, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'a' },
      subjects: [{ kind: 'Group', name: `system:cluster:${old}` }],
    });
    expect(subjects['subjects']).toEqual([{ kind: 'Group', name: `system:cluster:${newClusterName(id, old)}` }]);
  });

  test('that names its shard names the target', () => {
    const workspace = {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'Workspace',
      metadata: {
        name: 'a',
        annotations: { 'core.kcp.io/shard': 'root', 'internal.tenancy.kcp.io/shard': '1pfxsevk' },
      },
    };
    const { annotations } = rewritten(kept, workspace).metadata;
    expect(annotations?.['core.kcp.io/shard']).toBe('shard-1');
    expect(annotations?.['internal.tenancy.kcp.io/shard']).toMatch(/^(?!1pfxsevk)[0-9a-z]{8}$/);
  });

  test('a token of a ServiceAccount is removed with new uids, and kept without', () => {
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/service-account-token',
      metadata: { name: 'a', annotations: { 'kubernetes.io/service-account.uid': uid } },
      data: { token: 'dG9rZW4=', namespace: 'ZGVmYXVsdA==' },
    };
    expect(rewritten(moved, secret)['data']).toEqual({ namespace: 'ZGVmYXVsdA==' });
    expect(rewritten(kept, secret)).toEqual(secret);
  });
});

test('keys have the new logical cluster and identity', () => {
  const rewriter = new ObjectRewriter(moved);
  const prefix = `/registry/x.dev/widgets/${'a'.repeat(64)}/`;
  expect(rewriter.key({ prefix, cluster: old, rest: 'default/w' })).toBe(
    `/registry/x.dev/widgets/${'b'.repeat(64)}/${newClusterName(id, old)}/default/w`,
  );
  expect(rewriter.key({ prefix: '/registry/core/configmaps/', cluster: old, rest: 'default/w' })).toBe(
    `/registry/core/configmaps/${newClusterName(id, old)}/default/w`,
  );
});

test('new names and uids are of the form of generated ones, and the same for every attempt', () => {
  expect(newClusterName(id, old)).toMatch(/^[0-9a-z]{16}$/);
  expect(newClusterName(id, old)).not.toBe(old);
  expect(newUid(id, uid)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(newUid('ff', uid)).not.toBe(newUid(id, uid));
});
