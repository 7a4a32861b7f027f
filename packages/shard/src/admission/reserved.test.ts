import { describe, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import type { AdmissionAttributes, AdmissionPlugin } from '@multiplane/apiserver';
import { parseLocks, type ResourceLocks } from '@multiplane/apis';
import { OptionError } from '@multiplane/component-base';
import { enabledPlugins } from '../wiring/enabled-plugins.ts';
import { CrdNoOverlapping } from './crd-no-overlapping.ts';
import { ReservedCrdAnnotations, ReservedCrdGroups } from './reserved-definitions.ts';
import { ReservedMetadata } from './reserved-metadata.ts';
import { FakeClock } from '@multiplane/testing';

const ann: UserInfo = { name: 'ann', uid: '', groups: [], extra: {} };

async function refusal(
  plugin: AdmissionPlugin,
  object: KubeObject,
  more: Partial<AdmissionAttributes> = {},
): Promise<string | undefined> {
  const attributes = {
    operation: more.oldObject === undefined ? 'CREATE' : 'UPDATE',
    definition: { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' },
    cluster: 'here',
    subresource: '',
    user: ann,
    name: 'd',
    dryRun: false,
    object,
    ...more,
  } as unknown as AdmissionAttributes;
  try {
    await plugin.validate?.(attributes);
    return undefined;
  } catch (error) {
    return (error as Error).message.replace(/^.*? is forbidden: /, '');
  }
}
const crd = (group: string, annotations: Record<string, string> = {}, plural = 'gadgets'): KubeObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}`, annotations },
  spec: { group, names: { plural } },
});

describe('a CustomResourceDefinition', () => {
  test('cannot use a reserved group', async () => {
    const plugin = new ReservedCrdGroups();
    for (const group of ['apis.kcp.io', 'sub.apis.kcp.io', 'xapis.kcp.io'])
      expect(await refusal(plugin, crd(group))).toBe(`${group} is a reserved group`);
    expect(await refusal(plugin, crd('tenancy.kcp.io'))).toBeUndefined();
  });

  test('cannot have the annotations of a bound schema', async () => {
    const plugin = new ReservedCrdAnnotations();
    const with1 = (key: string, cluster = 'here'): Promise<string | undefined> =>
      refusal(plugin, crd('example.dev', { [key]: '' }), { cluster: cluster as LogicalClusterName });
    for (const key of ['apis.kcp.io/bound-crd', 'x.apis.kcp.io/y'])
      expect(await with1(key)).toBe(`${key} is a reserved annotation`);
    for (const key of ['kcp.io/path', 'xapis.kcp.io/y', 'apis.kcp.io']) expect(await with1(key)).toBeUndefined();
    expect(await with1('apis.kcp.io/bound-crd', 'system:bound-crds')).toBeUndefined();
  });
});

describe('CRDNoOverlappingGVR', () => {
  const clock = new FakeClock();
  const plugin = (locks: ResourceLocks): AdmissionPlugin =>
    new CrdNoOverlapping({ clock, changeLocks: async (_cluster, edit) => edit(locks) });

  test('rejects a bound name, and locks a free one', async () => {
    const locks = parseLocks('{"gadgets.example.dev":{"n":"things"}}');
    expect(await refusal(plugin(locks), crd('example.dev'))).toBe(
      'cannot create because resource is bound by APIBinding "things"',
    );
    expect(await refusal(plugin(locks), crd('example.dev', {}, 'hats'), { dryRun: true })).toBeUndefined();
    expect(locks.has('hats.example.dev')).toBe(false);
    expect(await refusal(plugin(locks), crd('example.dev', {}, 'hats'))).toBeUndefined();
    const lock = locks.get('hats.example.dev');
    expect(lock?.c).toBe(true);
    expect(Date.parse(lock?.e ?? '')).toBeGreaterThan(clock.now());
  });

  test('rejects the CRD if locking fails', async () => {
    const broken = new CrdNoOverlapping({ clock, changeLocks: () => Promise.reject(new Error('busy')) });
    expect(await refusal(broken, crd('example.dev'))).toBe(
      'failed to lock resources gadgets.example.dev in logical cluster "here": busy',
    );
  });
});

describe('reserved metadata', () => {
  const plugin = new ReservedMetadata();
  const object = (annotations?: Record<string, string>, labels?: Record<string, string>): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...(annotations === undefined ? {} : { annotations }), ...(labels === undefined ? {} : { labels }) },
  });

  test('cannot be added, changed or removed by tenants', async () => {
    const no = 'modification of reserved annotation: "internal.tenancy.kcp.io/type"';
    const typed = object({ 'internal.tenancy.kcp.io/type': 'root:universal' });
    expect(await refusal(plugin, typed)).toBe(no);
    expect(await refusal(plugin, object(), { oldObject: typed })).toBe(no);
    expect(await refusal(plugin, typed, { oldObject: typed })).toBeUndefined();
    expect(await refusal(plugin, typed, { user: { ...ann, groups: ['system:masters'] } })).toBeUndefined();
    expect(await refusal(plugin, object({}, { 'tenancy.kcp.io/phase': 'Ready' }))).toBe(
      'modification of reserved label: "tenancy.kcp.io/phase"',
    );
  });

  test('excludes keys of other plugins and of other domains', async () => {
    const open = {
      'kcp.io/path': 'root',
      'extra.apis.kcp.io/colour': 'blue',
      'example.dev/kcp.io': '',
      'notkcp.io/a': '',
    };
    expect(await refusal(plugin, object(open, { 'claimed.internal.apis.kcp.io/x': 'y' }))).toBeUndefined();
  });
});

describe('admission plugins are selected', () => {
  const names = [
    'NamespaceLifecycle',
    'TerminatingDefinition',
    'kcp.io/PathAnnotation',
    'apis.kcp.io/ReservedMetadata',
  ];
  const plugins: AdmissionPlugin[] = names.map((name) => ({ name, handles: () => true }));
  const chosen = (enable: string[], disable: string[]): string[] =>
    enabledPlugins(plugins, { enable, disable }).map(({ name }) => name);

  test('by their defaults and by flags, in their order', () => {
    expect(chosen([], [])).toEqual(names.slice(0, 3));
    expect(chosen(['apis.kcp.io/ReservedMetadata'], ['NamespaceLifecycle'])).toEqual(names.slice(1));
  });

  test('by known names', () => {
    expect(() => chosen(['Nothing'], [])).toThrow(
      new OptionError('enable-admission-plugins plugin "Nothing" is unknown'),
    );
    // A rule of the API, which cannot be disabled.
    expect(() => chosen([], ['TerminatingDefinition'])).toThrow('is unknown');
    expect(() => chosen(['NamespaceLifecycle'], ['NamespaceLifecycle'])).toThrow(
      '"NamespaceLifecycle" in enable-admission-plugins and disable-admission-plugins overlapped',
    );
  });
});
