import { describe, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject, LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import type { AdmissionAttributes } from '@multiplane/apiserver';
import { apiBindingFinalizer, exportLabel, exportLabelValue, type APIBinding, type APIExport } from '@multiplane/apis';
import { AmbiguousPathError, type PathAndNameLookup } from '@multiplane/client';
import type { Authorizer } from '@multiplane/generic-server';
import { ApiBindingAdmission } from './api-binding-admission.ts';
import { ApiBindingFinalizer } from './api-binding-finalizer.ts';
import { ApiExportEndpointSliceAdmission } from './api-export-endpoint-slice-admission.ts';

const ann: UserInfo = { name: 'ann', uid: '', groups: [], extra: {} };
const master: UserInfo = { ...ann, groups: ['system:masters'] };
/** All users may bind `open` in any cluster, and all exports of their own cluster. */
const authorizer: Authorizer = {
  authorize: async ({ verb, deep, name, cluster }) => ({
    decision: verb === 'bind' && deep === true && (name === 'open' || cluster === 'here') ? 'allow' : 'noOpinion',
    reason: '',
  }),
};
const exports: PathAndNameLookup<APIExport> = {
  synced: Promise.resolve(),
  byPathAndName: (path, name) => {
    if (path === 'twice') throw new AmbiguousPathError('two of them');
    return path === 'root:there' && ['open', 'closed'].includes(name)
      ? { apiVersion: '', kind: '', metadata: { name, annotations: { 'kcp.io/cluster': 'there' } } }
      : undefined;
  },
};
const bindings = new ApiBindingAdmission({ authorizer, exports });
const slices = new ApiExportEndpointSliceAdmission({ authorizer, exports });
const finalizers = new ApiBindingFinalizer();

interface Circumstances {
  readonly old?: KubeObject;
  readonly version?: string;
  readonly user?: UserInfo;
  readonly subresource?: string;
}
const attributesOf = (
  resource: string,
  object: KubeObject,
  { old, version = 'v1alpha2', user = ann, subresource = '' }: Circumstances = {},
): AdmissionAttributes =>
  ({
    operation: old === undefined ? 'CREATE' : 'UPDATE',
    definition: { group: 'apis.kcp.io', resource, version },
    cluster: 'here' as LogicalClusterName,
    name: old === undefined ? '' : object.metadata.name,
    subresource,
    user,
    object,
    oldObject: old,
  }) as unknown as AdmissionAttributes;

const messageOf = (error: unknown): string => (error as Error).message.replace(/^.*? is forbidden: /, '');

/** The reason of a rejection; undefined if admitted. */
async function refusal(object: KubeObject, circumstances?: Circumstances): Promise<string | undefined> {
  const attributes = attributesOf('apibindings', object, circumstances);
  try {
    await bindings.admit(attributes);
    await bindings.validate(attributes);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
const binding = (spec: JsonObject, metadata: KubeObject['metadata'] = {}): APIBinding => ({
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIBinding',
  metadata: { name: 'b', ...metadata },
  spec,
});
const to = (name: string, path?: string): JsonObject => ({
  reference: { export: { name, ...(path === undefined ? {} : { path }) } },
});

describe('a binding', () => {
  test('needs the bind permission; the refusal does not reveal whether the export exists', async () => {
    const no = (action: string, name: string): string =>
      `unable to ${action} APIBinding: no permission to bind to export ${name}`;
    expect(await refusal(binding(to('open', 'root:there')))).toBeUndefined();
    expect(await refusal(binding(to('closed', 'root:there')))).toBe(no('create', 'root:there:closed'));
    expect(await refusal(binding(to('missing', 'root:there')))).toBe(no('create', 'root:there:missing'));
    expect(await refusal(binding(to('open', 'Bad Path')))).toBe(no('create', 'Bad Path:open'));
    expect(await refusal(binding(to('open', 'twice')))).toBe(no('create', 'twice:open'));
    expect(await refusal(binding(to('missing', 'root:there')), { user: master })).toBe(
      no('create', 'root:there:missing'),
    );
    const old = binding(to('open', 'root:there'), { labels: { [exportLabel]: exportLabelValue('there', 'open') } });
    expect(await refusal(binding(to('closed', 'root:there')), { old })).toBe(no('update', 'root:there:closed'));
  });

  test('can be created before an export in its own logical cluster', async () => {
    expect(await refusal(binding(to('later')))).toBeUndefined();
  });

  test('is rejected if a webhook changes the export label', async () => {
    const right = { [exportLabel]: exportLabelValue('there', 'open') };
    const old = binding(to('open', 'root:there'), { labels: right });
    for (const labels of [{ [exportLabel]: exportLabelValue('victim', 'export') }, {}] as Record<string, string>[]) {
      const forged = attributesOf('apibindings', binding(to('open', 'root:there'), { labels }), { old });
      await expect(bindings.validate(forged)).rejects.toThrow(
        `must be set to ${JSON.stringify(exportLabelValue('there', 'open'))}`,
      );
    }
    const kept = attributesOf('apibindings', binding(to('open', 'root:there'), { labels: right }), { old });
    await expect(bindings.validate(kept)).resolves.toBeUndefined();
  });

  test('has the label of its export, whatever the client sets, also after the export is deleted', async () => {
    const labelled = async (object: APIBinding, old?: APIBinding): Promise<unknown> => {
      expect(await refusal(object, old === undefined ? {} : { old })).toBeUndefined();
      return object.metadata.labels;
    };
    const right = { [exportLabel]: exportLabelValue('there', 'open') };
    const forged = { labels: { a: 'b', [exportLabel]: 'forged' } };
    expect(await labelled(binding(to('open', 'root:there'), forged))).toEqual({ a: 'b', ...right });
    expect(await labelled(binding(to('later')))).toEqual({ [exportLabel]: exportLabelValue('here', 'later') });
    const gone = to('gone', 'root:there');
    const before = binding(gone, { labels: { [exportLabel]: 'before' } });
    expect(await labelled(binding(gone, forged), before)).toEqual({ a: 'b', [exportLabel]: 'before' });
  });

  test('requires an export reference', async () => {
    expect(await refusal(binding({ reference: {} }))).toBe('[spec.reference.export: Required value]');
    expect(await refusal(binding({ reference: { export: { path: 'root' } } }))).toBe(
      '[spec.reference.export.name: Required value]',
    );
  });

  test('requires a selector in every claim', async () => {
    const of = (selector?: JsonObject): Promise<string | undefined> =>
      refusal(
        binding({
          ...to('open', 'root:there'),
          permissionClaims: [
            {
              resource: 'configmaps',
              verbs: ['*'],
              state: 'Accepted',
              ...(selector === undefined ? {} : { selector }),
            },
          ],
        }),
      );
    const open =
      '[spec.permissionClaims[0].selector: Required value: either one of matchAll, matchLabels, or matchExpressions must be set]';
    for (const selector of [undefined, {}, { matchAll: false }, { matchLabels: {} }])
      expect(await of(selector)).toBe(open);
    const expression = { key: 'a', operator: 'Exists' };
    expect(await of({ matchAll: true, matchLabels: { a: 'b' } })).toBe(
      '[spec.permissionClaims[0].selector.matchLabels: Invalid value: {"matchLabels":{"a":"b"},"matchAll":true}: matchLabels cannot be used with matchAll]',
    );
    expect(await of({ matchAll: true, matchExpressions: [expression] })).toBe(
      '[spec.permissionClaims[0].selector.matchExpressions: Invalid value: {"matchExpressions":[{"key":"a","operator":"Exists"}],"matchAll":true}: matchExpressions cannot be used with matchAll]',
    );
    for (const selector of [{ matchAll: true }, { matchLabels: { a: 'b' } }, { matchExpressions: [expression] }])
      expect(await of(selector)).toBeUndefined();
  });

  test('of the wrong shape is left to schema validation', async () => {
    for (const spec of [
      { reference: 'x' },
      { reference: { export: 'x' } },
      { reference: { export: null } },
      { reference: { export: { name: 'open' } }, permissionClaims: ['x', null, 5] },
      { reference: { export: { name: 5, path: {} } }, permissionClaims: 'x' },
    ]) {
      const attributes = attributesOf('apibindings', binding(spec));
      await expect(bindings.admit(attributes)).resolves.toBeUndefined();
    }
  });

  test('as v1alpha1 needs no selectors', async () => {
    const claims = [{ resource: 'configmaps', all: true, state: 'Accepted' }];
    const object = binding({ ...to('open', 'root:there'), permissionClaims: claims });
    expect(await refusal(object, { version: 'v1alpha1' })).toBeUndefined();
    expect(object.spec?.permissionClaims).toEqual(claims);
  });

  test('cannot unset its phase', async () => {
    const old = { ...binding(to('open', 'root:there')), status: { phase: 'Bound' as const } };
    const attributes = attributesOf('apibindings', { ...old, status: {} }, { old, subresource: 'status' });
    await expect(bindings.validate(attributes)).rejects.toThrow(
      '[status.phase: Invalid value: "": cannot transition from "Bound" to ""]',
    );
  });
});

describe('the finalizer of an APIBinding', () => {
  const write = async (metadata: KubeObject['metadata'], circumstances?: Circumstances): Promise<unknown> => {
    const object = binding(to('open'), metadata);
    const attributes = attributesOf('apibindings', object, circumstances);
    try {
      await finalizers.admit(attributes);
      await finalizers.validate(attributes);
      return object.metadata.finalizers;
    } catch (error) {
      return messageOf(error);
    }
  };

  test('is added on create and restored on update', async () => {
    expect(await write({})).toEqual([apiBindingFinalizer]);
    expect(await write({ finalizers: ['a/b'] }, { old: binding(to('open')) })).toEqual(['a/b', apiBindingFinalizer]);
  });

  test('can be removed by the system', async () => {
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    const old = binding(to('open'), { deletionTimestamp, finalizers: [apiBindingFinalizer] });
    expect(await write({ deletionTimestamp, finalizers: [] }, { old })).toBe(
      'removing the finalizer apis.kcp.io/apibinding-finalizer is forbidden',
    );
    expect(await write({ deletionTimestamp, finalizers: [] }, { old, user: master })).toEqual([]);
    const gone = binding(to('open'), { deletionTimestamp, finalizers: ['a/b'] });
    expect(await write({ deletionTimestamp, finalizers: [] }, { old: gone })).toEqual([]);
  });
});

describe('an endpoint slice', () => {
  const slice = (spec: JsonObject, endpoints?: string[]): KubeObject => ({
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIExportEndpointSlice',
    metadata: { name: 's' },
    spec,
    ...(endpoints === undefined ? {} : { status: { endpoints: endpoints.map((url) => ({ url })) } }),
  });
  const write = async (object: KubeObject, circumstances?: Circumstances): Promise<string | undefined> => {
    try {
      await slices.validate(attributesOf('apiexportendpointslices', object, circumstances));
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  };

  test('needs the permission to bind', async () => {
    const of = (name: string, path?: string): JsonObject => to(name, path)['reference'] as JsonObject;
    const no = 'no permission to bind to export root:there:closed';
    expect(await write(slice(of('open', 'root:there')))).toBeUndefined();
    expect(await write(slice(of('later')))).toBeUndefined();
    expect(await write(slice(of('closed', 'root:there')))).toBe(`unable to create APIExportEndpointSlice: ${no}`);
    const old = slice(of('open', 'root:there'));
    expect(await write(slice(of('closed', 'root:there')), { old })).toBe(
      `unable to update APIExportEndpointSlice: ${no}`,
    );
    const unchanged = slice(of('closed', 'root:there'));
    expect(await write(unchanged, { old: unchanged })).toBeUndefined();
    expect(await write(slice({ export: { name: '' } }))).toBe('[spec.export.name: Required value]');
  });

  test('accepts endpoints from shards only, unlike kcp', async () => {
    const spec = { export: { name: 'open', path: 'root:there' } };
    const old = slice(spec);
    const object = slice(spec, ['https://evil.example.com']);
    const circumstances = { old, subresource: 'status' };
    expect(await write(object, circumstances)).toBe('status.endpoints can only be changed by system privileged users');
    expect(await write(object, { ...circumstances, user: master })).toBeUndefined();
    expect(await write(object, { ...circumstances, old: object })).toBeUndefined();
  });
});
