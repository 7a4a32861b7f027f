import { describe, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import { loopbackUser, type AdmissionAttributes } from '@multiplane/apiserver';
import { defaultSliceAnnotation, type CachedResource } from '@multiplane/apis';
import { CachedResourceSliceAdmission } from './cached-resource-slice-admission.ts';

const ann: UserInfo = { name: 'ann', uid: '', groups: [], extra: {} };
const publishedIn = (cluster: string, path: string, name: string): CachedResource => ({
  apiVersion: 'cache.kcp.io/v1alpha1',
  kind: 'CachedResource',
  metadata: { name, annotations: { 'kcp.io/cluster': cluster, 'kcp.io/path': path } },
});
/** `root:far` is a workspace of another shard; two logical clusters were at `root:twice`. */
const published = [
  publishedIn('far', 'root:far', 'flavors'),
  publishedIn('one', 'root:twice', 'flavors'),
  publishedIn('two', 'root:twice', 'images'),
];
const plugin = new CachedResourceSliceAdmission({
  // Ann may bind `open` and `later` everywhere.
  authorizer: {
    authorize: async ({ verb, deep, name }) => ({
      decision: verb === 'bind' && deep === true && (name === 'open' || name === 'later') ? 'allow' : 'noOpinion',
      reason: '',
    }),
  },
  cachedResources: {
    synced: Promise.resolve(),
    byPathAndName: (path, name) =>
      published.find(({ metadata }) => metadata.annotations?.['kcp.io/path'] === path && metadata.name === name),
  },
  published: { list: () => published },
  clusterOfPath: (path) => (path === 'root:near' ? 'near' : undefined),
});

/** The reason of a rejection; undefined if admitted. */
async function refusal(path: string, name: string, isNewer = false): Promise<string | undefined> {
  try {
    await plugin.validate({
      operation: 'CREATE',
      definition: { group: 'cache.kcp.io', resource: `${isNewer ? 'cluster' : ''}cachedresourceendpointslices` },
      cluster: 'here' as LogicalClusterName,
      name: 'slice',
      subresource: '',
      user: ann,
      object: { spec: { [isNewer ? 'clusterCachedResource' : 'cachedResource']: { path, name } } },
    } as unknown as AdmissionAttributes);
    return undefined;
  } catch (error) {
    return /no permission to bind to CachedResource \S+/.exec((error as Error).message)?.[0];
  }
}

test('a slice may refer to a CachedResource that its author may bind, also before it exists', async () => {
  expect(await refusal('', 'any')).toBeUndefined();
  expect(await refusal('root:near', 'later')).toBeUndefined();
  expect(await refusal('root:far', 'later')).toBeUndefined();
  expect(await refusal('far', 'later')).toBeUndefined();
});

test('the rules are the same for a ClusterCachedResourceEndpointSlice', async () => {
  expect(await refusal('root:far', 'later', true)).toBeUndefined();
  expect(await refusal('root:far', 'flavors', true)).toBe('no permission to bind to CachedResource root:far:flavors');
});

test('a slice needs the permission to bind, and a path that means one logical cluster', async () => {
  const no = (path: string, name: string): string => `no permission to bind to CachedResource ${path}:${name}`;
  for (const [path, name] of [
    ['root:near', 'flavors'],
    ['root:far', 'flavors'],
    ['root:far', 'missing'],
    ['root:twice', 'later'],
    ['root:unknown', 'later'],
  ] as const)
    expect(await refusal(path, name)).toBe(no(path, name));
});

describe('the slice that was made with a CachedResource', () => {
  const owner = { apiVersion: 'cache.kcp.io/v1alpha1', kind: 'CachedResource', name: 'flavors', uid: 'u' };
  const other = { ...owner, kind: 'ConfigMap', name: 'x' };
  const made = (metadata: object = {}, spec: object = {}): KubeObject => ({
    apiVersion: 'cache.kcp.io/v1alpha1',
    kind: 'CachedResourceEndpointSlice',
    metadata: { name: 'flavors', annotations: { [defaultSliceAnnotation]: '' }, ownerReferences: [owner], ...metadata },
    spec: { cachedResource: { name: 'flavors' }, ...spec },
  });
  /** Annotations and names of the owners after mutating admission. */
  async function written(user: UserInfo, object: KubeObject, oldObject?: KubeObject, subresource = '') {
    await plugin.admit({
      operation: oldObject === undefined ? 'CREATE' : 'UPDATE',
      definition: { group: 'cache.kcp.io', resource: 'cachedresourceendpointslices' },
      cluster: 'here' as LogicalClusterName,
      name: 'flavors',
      subresource,
      user,
      object,
      oldObject,
    } as unknown as AdmissionAttributes);
    const { annotations, ownerReferences } = object.metadata;
    return [Object.keys(annotations ?? {}), (ownerReferences ?? []).map(({ name }) => name)];
  }
  const isMade = [[defaultSliceAnnotation], ['flavors']];

  test('stays that of the CachedResource while only the system writes it', async () => {
    expect(await written(loopbackUser, made())).toEqual(isMade);
    expect(await written(loopbackUser, made({ labels: { a: 'b' } }), made())).toEqual(isMade);
    expect(await written(ann, made(), made())).toEqual(isMade);
    expect(await written(ann, made({ labels: { a: 'b' } }), made(), 'status')).toEqual(isMade);
  });

  test('is the slice of whoever changes it, and keeps other owners', async () => {
    const before = made({ ownerReferences: [owner, other] });
    const changed = made({ ownerReferences: [owner, other] }, { export: { name: 'compute' } });
    expect(await written(ann, changed, before)).toEqual([[], ['x']]);
    const applied = { annotations: { [defaultSliceAnnotation]: '', 'kubectl.kubernetes.io/last-applied': '{}' } };
    expect(await written(ann, made(applied), made())).toEqual([['kubectl.kubernetes.io/last-applied'], []]);
    expect(await written(ann, made({ annotations: undefined }), made())).toEqual([[], ['flavors']]);
  });

  test('cannot be imitated', async () => {
    expect(await written(ann, made())).toEqual([[], ['flavors']]);
    expect(await written(ann, made(), made({ annotations: {} }))).toEqual([[], ['flavors']]);
  });
});
