import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { GroupVersionResource, JsonObject, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiBindings,
  apiExports,
  apiResourceSchemas,
  claimLabelPrefix,
  claimLabelValue,
  exportLabelValue,
  reflexiveClaimLabelValue,
  withheldLabelPrefix,
  type AcceptablePermissionClaim,
  type APIBinding,
  type APIExport,
} from '@multiplane/apis';
import { workspaces, type Workspace } from '@multiplane/controllers';
import { apiResourceSchema, eventually } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

const root = 'root' as LogicalClusterName;
const configMaps: GroupVersionResource = { group: '', version: 'v1', resource: 'configmaps' };
const parts: GroupVersionResource = { group: 'example.dev', version: 'v1', resource: 'parts' };

let shard: InProcessShard;
let provider: LogicalClusterName;
let workspacesMade = 0;
beforeAll(async () => {
  shard = await InProcessShard.start();
  provider = await workspace();
}, 120_000);
afterAll(async () => {
  await shard?.[Symbol.asyncDispose]();
});

/** Creates a workspace; resolves to its logical cluster. */
async function workspace(): Promise<LogicalClusterName> {
  const name = `w${++workspacesMade}`;
  await shard.client.create(workspaces, root, {
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'Workspace',
    metadata: { name },
    spec: { type: { name: 'universal', path: 'root' } },
  });
  return eventually(async () => {
    const made: Workspace = await shard.client.get(workspaces, { cluster: root, namespace: '', name });
    expect(made.status?.phase).toBe('Ready');
    return made.spec?.cluster as LogicalClusterName;
  });
}

type Spec = NonNullable<APIExport['spec']>;

/** Creates an APIExport of the provider; resolves to its identity. */
async function exported(name: string, spec: Spec): Promise<string> {
  await shard.client.create(apiExports, provider, {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIExport',
    metadata: { name },
    spec,
  });
  return eventually(async () => {
    const made: APIExport = await shard.client.get(apiExports, { cluster: provider, namespace: '', name });
    expect(made.status?.identityHash).toBeDefined();
    return made.status?.identityHash as string;
  });
}

const accepted = (claim: Partial<AcceptablePermissionClaim>): AcceptablePermissionClaim => ({
  group: '',
  resource: 'configmaps',
  verbs: ['*'],
  selector: { matchAll: true },
  state: 'Accepted',
  ...claim,
});

async function bind(
  consumer: LogicalClusterName,
  exportName: string,
  permissionClaims: AcceptablePermissionClaim[] = [],
): Promise<void> {
  await shard.client.create(apiBindings, consumer, {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIBinding',
    metadata: { name: exportName },
    spec: {
      reference: { export: { path: provider, name: exportName } },
      permissionClaims: permissionClaims as unknown as JsonObject[],
    },
  });
}

const bindingOf = (cluster: LogicalClusterName, name: string): Promise<APIBinding> =>
  shard.client.get(apiBindings, { cluster, namespace: '', name });

async function appliedTo(cluster: LogicalClusterName, name: string): Promise<string[]> {
  const { status } = await bindingOf(cluster, name);
  return (status?.appliedPermissionClaims ?? []).map(({ resource }) => resource);
}

/** Replaces the permission claims of the binding. */
async function answer(
  cluster: LogicalClusterName,
  name: string,
  permissionClaims: AcceptablePermissionClaim[],
): Promise<void> {
  await shard.client.patch(apiBindings, { cluster, namespace: '', name }, 'application/merge-patch+json', {
    spec: { permissionClaims: permissionClaims as unknown as JsonObject[] },
  });
}

const map = (name: string, labels?: Record<string, string>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', ...(labels === undefined ? {} : { labels }) },
});
const labelsOf = async (
  cluster: LogicalClusterName,
  name: string,
  resource = configMaps,
): Promise<Record<string, string>> =>
  (await shard.client.get(resource, { cluster, namespace: 'default', name })).metadata.labels ?? {};

const keyOf = (exportName: string): string => exportLabelValue(provider, exportName);
const claimed = (exportName: string, claim: Parameters<typeof claimLabelValue>[0]): Record<string, string> => ({
  [`${claimLabelPrefix}${keyOf(exportName)}`]: claimLabelValue(claim),
});
const claimedMap = (exportName: string): Record<string, string> => claimed(exportName, { resource: 'configmaps' });
const claimsMaps: Spec = { permissionClaims: [{ resource: 'configmaps', verbs: ['*'] }] };

describe('an accepted claim', () => {
  test('labels existing and new objects; clients cannot write these labels', async () => {
    const consumer = await workspace();
    await exported('labels', claimsMaps);
    await shard.client.create(configMaps, consumer, map('before'));
    await bind(consumer, 'labels', [accepted({})]);
    await eventually(async () => expect(await appliedTo(consumer, 'labels')).toEqual(['configmaps']));
    expect(await labelsOf(consumer, 'before')).toEqual(claimedMap('labels'));

    const forged = { [`${claimLabelPrefix}other`]: 'x', [`${withheldLabelPrefix}${keyOf('labels')}`]: 'list' };
    await shard.client.create(configMaps, consumer, map('after', { a: 'b', ...forged }));
    expect(await labelsOf(consumer, 'after')).toEqual({ a: 'b', ...claimedMap('labels') });
    await shard.client.patch(
      configMaps,
      { cluster: consumer, namespace: 'default', name: 'after' },
      'application/merge-patch+json',
      { metadata: { labels: null } },
    );
    expect(await labelsOf(consumer, 'after')).toEqual(claimedMap('labels'));
  }, 120_000);

  test('is reported in the status of the binding, with differences from the export', async () => {
    const consumer = await workspace();
    await exported('reported', {
      permissionClaims: [
        { resource: 'configmaps', verbs: ['get', 'list'], defaultSelector: { matchLabels: { a: 'b' } } },
      ],
    });
    await bind(consumer, 'reported', [accepted({ verbs: ['get'] }), accepted({ resource: 'secrets' })]);
    await eventually(async () => {
      const { status } = await bindingOf(consumer, 'reported');
      expect(status?.appliedPermissionClaims).toEqual([
        { group: '', identityHash: '', resource: 'configmaps', selector: { matchAll: true }, verbs: ['get'] },
      ]);
      expect(status?.conditions?.find(({ type }) => type === 'PermissionClaimsValid')).toMatchObject({
        status: 'False',
        severity: 'Warning',
        reason: 'PermissionClaimsMismatch',
        message:
          '1 permission claim(s) have mismatched verbs or selectors (showing first 1): configmaps. (verbs: accepted [get], exported [get list]; selector differs from defaultSelector)',
      });
      expect(status?.conditions?.find(({ type }) => type === 'PermissionClaimsApplied')?.status).toBe('True');
    });
  }, 120_000);

  test('selects by labels, following changes of labels and selector', async () => {
    const consumer = await workspace();
    await exported('selects', claimsMaps);
    await bind(consumer, 'selects', [accepted({ selector: { matchLabels: { share: 'yes' } } })]);
    await eventually(async () => expect(await appliedTo(consumer, 'selects')).toEqual(['configmaps']));
    await shard.client.create(configMaps, consumer, map('shared', { share: 'yes' }));
    await shard.client.create(configMaps, consumer, map('kept', { share: 'no' }));
    expect(await labelsOf(consumer, 'shared')).toEqual({ share: 'yes', ...claimedMap('selects') });
    expect(await labelsOf(consumer, 'kept')).toEqual({ share: 'no' });

    await answer(consumer, 'selects', [
      accepted({ selector: { matchExpressions: [{ key: 'share', operator: 'NotIn', values: ['yes'] }] } }),
    ]);
    await eventually(async () => {
      expect(await labelsOf(consumer, 'shared')).toEqual({ share: 'yes' });
      expect(await labelsOf(consumer, 'kept')).toEqual({ share: 'no', ...claimedMap('selects') });
    });
  }, 120_000);

  test('labels the verbs that the consumer withholds', async () => {
    const consumer = await workspace();
    await exported('verbs', claimsMaps);
    await bind(consumer, 'verbs', [accepted({ verbs: ['get', 'list'] })]);
    await eventually(async () => expect(await appliedTo(consumer, 'verbs')).toEqual(['configmaps']));
    await shard.client.create(configMaps, consumer, map('one'));
    expect(await labelsOf(consumer, 'one')).toEqual({
      ...claimedMap('verbs'),
      [`${withheldLabelPrefix}${keyOf('verbs')}`]: 'watch',
    });
    await answer(consumer, 'verbs', [accepted({ verbs: ['*'] })]);
    await eventually(async () => expect(await labelsOf(consumer, 'one')).toEqual(claimedMap('verbs')));
  }, 120_000);

  test('applies to the objects of one identity', async () => {
    const consumer = await workspace();
    await shard.client.create(apiResourceSchemas, provider, apiResourceSchema({ plural: 'parts' }));
    const resources: Spec['resources'] = [{ name: 'parts', group: 'example.dev', schema: 'v1.parts.example.dev' }];
    const identityHash = await exported('parts', { resources });
    const claim = { group: 'example.dev', resource: 'parts', verbs: ['*'] };
    await exported('builder', { permissionClaims: [{ ...claim, identityHash }] });
    await exported('stranger', { permissionClaims: [{ ...claim, identityHash: 'other' }] });
    await bind(consumer, 'builder', [accepted({ ...claim, identityHash })]);
    await bind(consumer, 'stranger', [accepted({ ...claim, identityHash: 'other' })]);
    await bind(consumer, 'parts');
    const bolt = { apiVersion: 'example.dev/v1', kind: 'Part', metadata: { name: 'bolt', namespace: 'default' } };
    await eventually(() => shard.client.create(parts, consumer, bolt));
    await eventually(async () => expect(await appliedTo(consumer, 'builder')).toEqual(['parts']));
    await eventually(async () => expect(await claimsOf(consumer, 'stranger')).toEqual([[], 'ClaimedResourceNotFound']));
    await eventually(async () =>
      expect(await labelsOf(consumer, 'bolt', parts)).toEqual(claimed('builder', { ...claim, identityHash })),
    );
  }, 120_000);

  const claimsOf = async (cluster: LogicalClusterName, name: string): Promise<[string[], string | undefined]> => {
    const condition = (await bindingOf(cluster, name)).status?.conditions?.find(
      ({ type }) => type === 'PermissionClaimsApplied',
    );
    return [await appliedTo(cluster, name), condition?.reason ?? condition?.status];
  };

  test('of a resource that does not exist is not applied, and is as soon as an APIExport offers the resource', async () => {
    const consumer = await workspace();
    const claim = { group: 'example.dev', resource: 'wheels', verbs: ['*'] };
    const identityHash = await exported('factory', {});
    await exported('garage', {
      permissionClaims: [
        { resource: 'secrets', verbs: ['*'] },
        { ...claim, identityHash },
      ],
    });
    await bind(consumer, 'garage', [accepted({ resource: 'secrets' }), accepted({ ...claim, identityHash })]);
    await eventually(async () =>
      expect(await claimsOf(consumer, 'garage')).toEqual([['secrets'], 'ClaimedResourceNotFound']),
    );
    const { status } = await bindingOf(consumer, 'garage');
    expect(status?.conditions?.find(({ type }) => type === 'PermissionClaimsApplied')).toMatchObject({
      status: 'False',
      severity: 'Warning',
      message: `Permission claims have not been fully applied: resource wheels.example.dev does not exist: no APIExport with identity "${identityHash}" offers it`,
    });
    expect(status?.phase).toBe('Bound');

    await shard.client.create(apiResourceSchemas, provider, apiResourceSchema({ plural: 'wheels' }));
    await shard.client.patch(
      apiExports,
      { cluster: provider, namespace: '', name: 'factory' },
      'application/merge-patch+json',
      { spec: { resources: [{ name: 'wheels', group: 'example.dev', schema: 'v1.wheels.example.dev' }] } },
    );
    await eventually(async () => expect(await claimsOf(consumer, 'garage')).toEqual([['secrets', 'wheels'], 'True']));

    await shard.client.delete(apiExports, { cluster: provider, namespace: '', name: 'factory' });
    await eventually(async () =>
      expect(await claimsOf(consumer, 'garage')).toEqual([['secrets'], 'ClaimedResourceNotFound']),
    );
  }, 120_000);

  test('of a kind that no API group has is not applied', async () => {
    const consumer = await workspace();
    const claim = { group: 'apis.kcp.io', resource: 'gizmos', verbs: ['*'] };
    await exported('gizmos', { permissionClaims: [claim] });
    await bind(consumer, 'gizmos', [accepted(claim)]);
    await eventually(async () => expect(await claimsOf(consumer, 'gizmos')).toEqual([[], 'ClaimedResourceNotFound']));
    await answer(consumer, 'gizmos', []);
    await eventually(async () => expect(await claimsOf(consumer, 'gizmos')).toEqual([[], 'True']));
  }, 120_000);

  test('can cover APIBindings; bindings to its own export are always visible', async () => {
    const consumer = await workspace();
    const claim = { group: 'apis.kcp.io', resource: 'apibindings', verbs: ['get'] };
    await exported('watcher', { permissionClaims: [claim] });
    await exported('watched', {});
    await bind(consumer, 'watched');
    await bind(consumer, 'watcher', [accepted(claim)]);
    await eventually(async () => {
      const { metadata } = await bindingOf(consumer, 'watched');
      expect(metadata.labels).toMatchObject({
        ...claimed('watcher', claim),
        [`${claimLabelPrefix}${keyOf('watched')}`]: reflexiveClaimLabelValue,
      });
    });
    await answer(consumer, 'watcher', []);
    await eventually(async () => {
      const { metadata } = await bindingOf(consumer, 'watcher');
      expect(metadata.labels).toEqual({
        'internal.apis.kcp.io/export': keyOf('watcher'),
        [`${claimLabelPrefix}${keyOf('watcher')}`]: reflexiveClaimLabelValue,
      });
    });
  }, 120_000);

  test('labels more objects than one batch, during concurrent writes', async () => {
    const consumer = await workspace();
    await exported('many', claimsMaps);
    const names = Array.from({ length: 600 }, (_, index) => `m${index}`);
    for (let at = 0; at < names.length; at += 50)
      await Promise.all(names.slice(at, at + 50).map((name) => shard.client.create(configMaps, consumer, map(name))));
    await bind(consumer, 'many', [accepted({})]);
    for (let index = 0; index < 100; index++) await shard.client.create(configMaps, consumer, map(`late${index}`));
    await eventually(async () => expect(await appliedTo(consumer, 'many')).toEqual(['configmaps']));
    await eventually(async () => {
      const { items } = await shard.client.list(configMaps, { cluster: consumer });
      const unlabelled = items.filter(
        ({ metadata }) => metadata.labels?.[`${claimLabelPrefix}${keyOf('many')}`] === undefined,
      );
      expect(unlabelled.map(({ metadata }) => metadata.name)).toEqual([]);
      expect(items.length).toBeGreaterThanOrEqual(700);
    });
  }, 120_000);
});

test('an APIExport with claims can be written as v1alpha1 without loss; kcp rejects that', async () => {
  const permissionClaims: Spec['permissionClaims'] = [
    { resource: 'configmaps', verbs: ['get', 'list'], defaultSelector: { matchLabels: { a: 'b' } } },
    { resource: 'secrets', verbs: ['*'] },
  ];
  await exported('versions', { permissionClaims });
  const reference = { cluster: provider, namespace: '', name: 'versions' };
  const old = { ...apiExports, version: 'v1alpha1' };
  const read = await shard.client.get(old, reference);
  await shard.client.update(old, provider, { ...read, metadata: { ...read.metadata, labels: { via: 'v1alpha1' } } });
  const { metadata, spec }: APIExport = await shard.client.get(apiExports, reference);
  expect(metadata.labels).toEqual({ via: 'v1alpha1' });
  expect(spec?.permissionClaims).toEqual(permissionClaims.map((claim) => ({ group: '', identityHash: '', ...claim })));
}, 120_000);

describe('claim labels are removed', () => {
  async function labelled(name: string): Promise<LogicalClusterName> {
    const consumer = await workspace();
    await exported(name, claimsMaps);
    await shard.client.create(configMaps, consumer, map('one'));
    await bind(consumer, name, [accepted({})]);
    await eventually(async () => expect(await labelsOf(consumer, 'one')).toEqual(claimedMap(name)));
    return consumer;
  }

  test('when the claim is rejected', async () => {
    const consumer = await labelled('rejected');
    await answer(consumer, 'rejected', [accepted({ state: 'Rejected' })]);
    await eventually(async () => expect(await labelsOf(consumer, 'one')).toEqual({}));
    await eventually(async () => expect(await appliedTo(consumer, 'rejected')).toEqual([]));
  }, 120_000);

  test('when the export drops the claim', async () => {
    const consumer = await labelled('withdrawn');
    await shard.client.patch(
      apiExports,
      { cluster: provider, namespace: '', name: 'withdrawn' },
      'application/merge-patch+json',
      { spec: { permissionClaims: [] } },
    );
    await eventually(async () => expect(await labelsOf(consumer, 'one')).toEqual({}));
    await eventually(async () => {
      const { status } = await bindingOf(consumer, 'withdrawn');
      expect(status?.conditions?.find(({ type }) => type === 'PermissionClaimsValid')).toMatchObject({
        reason: 'InvalidPermissionClaims',
        message:
          '1 unexpected and/or invalid permission claims (showing first 1): unexpected/invalid claim for configmaps. (identity "")',
      });
    });
  }, 120_000);

  test('with the binding; in kcp they stay until the next write of the object', async () => {
    const consumer = await labelled('deleted');
    await shard.client.delete(apiBindings, { cluster: consumer, namespace: '', name: 'deleted' });
    await eventually(() => expect(bindingOf(consumer, 'deleted')).rejects.toMatchObject({ reason: 'NotFound' }));
    expect(await labelsOf(consumer, 'one')).toEqual({});
  }, 120_000);
});

test('labelling that a process did not finish is completed after a restart', async () => {
  const before = shard;
  const [oldProvider] = [provider];
  shard = await InProcessShard.start([]);
  try {
    provider = await workspace();
    const consumer = await workspace();
    await exported('restart', claimsMaps);
    const names = Array.from({ length: 600 }, (_, index) => `m${index}`);
    for (let at = 0; at < names.length; at += 50)
      await Promise.all(names.slice(at, at + 50).map((name) => shard.client.create(configMaps, consumer, map(name))));
    await bind(consumer, 'restart', [accepted({})]);
    await shard.stop();
    const { directory } = shard;
    shard = await InProcessShard.start([], directory);
    await eventually(async () => expect(await appliedTo(consumer, 'restart')).toEqual(['configmaps']));
    const { items } = await shard.client.list(configMaps, {
      cluster: consumer,
      labelSelector: `${claimLabelPrefix}${keyOf('restart')}`,
    });
    expect(items.length).toBeGreaterThanOrEqual(600);
  } finally {
    await shard[Symbol.asyncDispose]();
    shard = before;
    provider = oldProvider;
  }
}, 120_000);
