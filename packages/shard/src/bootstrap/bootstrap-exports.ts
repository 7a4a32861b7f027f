import {
  hexSha256,
  deepEqual,
  isStatusError,
  type DeepReadonly,
  type GroupVersionResource,
  type Json,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import {
  apiBindings,
  apiConversions,
  apiExports,
  apiResourceSchemas,
  formatLocks,
  lockName,
  nativeExportNames,
  nativeExports,
  parseLocks,
  resourceBindingsAnnotation,
  rootExports,
  type APIBinding,
  type APIExport,
  type APIResourceSchema,
  type RootExport,
} from '@multiplane/apis';
import type { LoopbackClient } from '@multiplane/apiserver';
import type { InformerFactory } from '@multiplane/client';
import {
  precomputeBoundStatus,
  logicalClusterObjectName,
  logicalClusters,
  setKcpCondition,
  type LogicalCluster,
} from '@multiplane/controllers';
import { yieldToEventLoop, type Clock } from '@multiplane/component-base';
import { rootCluster } from '../logical-cluster-index.ts';
import { reconcileObject } from './reconcile-object.ts';

const core = (resource: string): GroupVersionResource => ({ group: '', version: 'v1', resource });
const rbacGroup = 'rbac.authorization.k8s.io';
const rbac = (resource: string): GroupVersionResource => ({ group: rbacGroup, version: 'v1', resource });
const identityNamespace = 'kcp-system';
const createOnlyAnnotation = 'bootstrap.kcp.io/create-only';
const keyBytes = 32;
const maxAttempts = 10;

interface Options {
  readonly isEnabled: (feature: string) => boolean;
  /** Identity keys by export, for installations that share identities; other keys are generated. */
  readonly identities: ReadonlyMap<string, string>;
}

interface Modules {
  readonly client: LoopbackClient;
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly randomBytes: (size: number) => Buffer;
}

const at = (name: string, namespace = '') => ({ cluster: rootCluster, namespace, name });

/**
 * Creates the APIExports of the control plane's own kinds in root, with schemas and identities, the APIBindings of root to
 * them, and RBAC for binding and using them (kcp `config/root-phase0`, `config/root`).
 *
 * The steps follow their dependencies and are idempotent, so an interrupted start continues where it stopped. Identities are
 * never replaced. An existing export is updated to the kinds of this version unless it has the create-only annotation.
 */
export async function bootstrapExports(options: Options, modules: Modules): Promise<void> {
  const { client } = modules;
  const wanted = rootExports().filter(({ feature }) => feature === undefined || options.isEnabled(feature));
  await ensure(
    core('namespaces'),
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: identityNamespace } },
    modules,
  );
  const schemas = new Map<string, DeepReadonly<APIResourceSchema>>();
  const exports: APIExport[] = [];
  for (const each of wanted) {
    for (const schema of each.schemas) {
      await ensure(apiResourceSchemas, schema, modules);
      const name = schema.metadata.name ?? '';
      schemas.set(name, await client.get(apiResourceSchemas, at(name)));
    }
    exports.push(await retryOnConflict(() => exportWithIdentity(each, options, modules)));
  }
  await lockResources(exports, modules);
  for (const each of exports) {
    await yieldToEventLoop();
    await bindInRoot(each, schemas, modules);
  }
  await bootstrapExportPolicies(modules);
}

/**
 * Creates the exports of Kubernetes' own kinds in root, and the right of all authenticated users to bind them. Root itself does not
 * have these kinds. Steps and updates are those of {@link bootstrapExports}.
 */
export async function bootstrapNativeExports(options: Options, modules: Modules): Promise<void> {
  for (const each of nativeExports()) {
    for (const schema of each.schemas) {
      await yieldToEventLoop();
      await ensure(apiResourceSchemas, schema, modules);
    }
    for (const conversion of each.conversions) await ensure(apiConversions, conversion, modules);
    await retryOnConflict(() => exportWithIdentity(each, options, modules));
  }
  const rules = [
    { apiGroups: ['apis.kcp.io'], resources: ['apiexports'], resourceNames: [...nativeExportNames], verbs: ['bind'] },
  ];
  await grant('native-kinds:bind', rules, authenticated, modules);
}

/** Retries after a conflict with another replica of the shard that bootstraps at the same time. */
async function retryOnConflict<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!isStatusError(error, 'Conflict') || attempt === maxAttempts) throw error;
    }
  }
}

/** Creates or updates the export and its identity; returns the export with the identity hash in its status. */
async function exportWithIdentity(
  { export: wanted }: RootExport,
  { identities }: Options,
  modules: Modules,
): Promise<APIExport> {
  const { client, clock, randomBytes } = modules;
  const name = wanted.metadata.name ?? '';
  const secret: KubeObject = {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: { name, namespace: identityNamespace },
    stringData: { key: identities.get(name) ?? randomBytes(keyBytes).toString('hex') },
  };
  await ensure(core('secrets'), secret, modules);
  const identity = { secretRef: { name, namespace: identityNamespace } };
  let current = await existing(name, modules);
  if (current === undefined) {
    await ensure(apiExports, { ...wanted, spec: { ...wanted.spec, identity } }, modules);
    current = await client.get(apiExports, at(name));
  } else if (!(createOnlyAnnotation in (current.metadata.annotations ?? {})) && !isCurrent(current, wanted)) {
    const { maximalPermissionPolicy: _old, ...others } = current.spec ?? {};
    const spec = { identity, ...others, ...wanted.spec };
    current = await client.update(apiExports, rootCluster, { ...current, spec });
  }
  if ((current.status?.identityHash ?? '') !== '') return current;
  const reference = current.spec?.identity?.secretRef ?? identity.secretRef;
  const held = await client.get(core('secrets'), at(reference.name ?? '', reference.namespace ?? ''));
  const key = Buffer.from((held['data'] as { key?: string } | undefined)?.key ?? '', 'base64');
  const status = {
    ...current.status,
    identityHash: hexSha256(key),
    conditions: setKcpCondition(
      current.status?.conditions,
      { type: 'IdentityValid', status: 'True' },
      new Date(clock.now()),
    ),
  };
  const changed = { ...current, status } as KubeObject;
  return await client.update(apiExports, rootCluster, changed, { subresource: 'status' });
}

function isCurrent({ spec }: APIExport, { spec: wanted }: APIExport): boolean {
  const same = (field: 'resources' | 'maximalPermissionPolicy'): boolean =>
    deepEqual((spec?.[field] ?? null) as unknown as Json, (wanted?.[field] ?? null) as unknown as Json);
  return same('resources') && same('maximalPermissionPolicy');
}

async function existing(name: string, { client }: Modules): Promise<APIExport | undefined> {
  try {
    return await client.get(apiExports, at(name));
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined;
    throw error;
  }
}

/** Locks the resource names of root's own bindings before other bindings or CRDs can take them. */
async function lockResources(exports: readonly APIExport[], { client }: Modules): Promise<void> {
  const root = (await client.get(logicalClusters, at(logicalClusterObjectName))) as LogicalCluster;
  const before = root.metadata.annotations?.[resourceBindingsAnnotation];
  const locks = parseLocks(before);
  for (const { metadata, spec } of exports)
    for (const { name, group = '' } of spec?.resources ?? [])
      locks.set(lockName({ group, resource: name }), { n: metadata.name ?? '' });
  const after = formatLocks(locks);
  if (after === before) return;
  const patch: JsonObject = { metadata: { annotations: { [resourceBindingsAnnotation]: after } } };
  await client.patch(logicalClusters, at(logicalClusterObjectName), 'application/merge-patch+json', patch);
}

/**
 * Creates root's own binding with its bound status: root contains workspaces and types before any controller runs.
 */
async function bindInRoot(
  exported: APIExport,
  schemas: ReadonlyMap<string, DeepReadonly<APIResourceSchema>>,
  modules: Modules,
): Promise<void> {
  const { client, informers, clock } = modules;
  const name = exported.metadata.name ?? '';
  if (informers.informer<APIBinding>(apiBindings).get(at(name)) !== undefined) return;
  const binding: APIBinding = {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIBinding',
    metadata: { name },
    spec: { reference: { export: { path: rootCluster, name } } },
  };
  const root = await client.get(logicalClusters, at(logicalClusterObjectName));
  const schema = (_cluster: string, wanted: string) => schemas.get(wanted);
  const status = precomputeBoundStatus(binding, exported, root, { informers, schema }, new Date(clock.now()));
  try {
    await client.create(
      apiBindings,
      rootCluster,
      { ...binding, ...(status === undefined ? {} : { status }) },
      {
        keepsStatus: true,
      },
    );
  } catch (error) {
    if (!isStatusError(error, 'AlreadyExists')) throw error;
  }
}

const boundGroup = (group: string): string => `apis.kcp.io:binding:${group}`;
const authenticated = 'system:authenticated';

/** RBAC for binding the exports of root, and their maximal permission policies (kcp `config/root-phase0`). */
async function bootstrapExportPolicies(modules: Modules): Promise<void> {
  const rule = (group: string, resources: readonly string[], verbs: readonly string[], names?: string): JsonObject => ({
    apiGroups: [group],
    resources: [...resources],
    ...(names === undefined ? {} : { resourceNames: [names] }),
    verbs: [...verbs],
  });
  const reading = ['get', 'list', 'watch'];
  const policy = ':maximal-permission-policy';
  const tenancy = 'tenancy.kcp.io';
  const topology = 'topology.kcp.io';
  const scopes = 'scopes.multiplane.dev';
  const scopeKinds = ['apiexportscopes', 'apiexportscopesets', 'apiexportscopeendpointslices'];
  const roles: readonly [role: string, rules: JsonObject[], group: string][] = [
    [`kcp-admin${policy}`, [rule(tenancy, ['*'], ['*'])], boundGroup('system:kcp:admin')],
    [
      `tenancy${policy}`,
      [
        rule(tenancy, ['workspaces', 'workspaceauthenticationconfigurations', 'workspacetypes'], ['*']),
        rule(tenancy, ['workspaces/status', 'workspacetypes/status'], reading),
      ],
      boundGroup(authenticated),
    ],
    [`topology${policy}`, [rule(topology, ['partitions', 'partitionsets'], ['*'])], boundGroup(authenticated)],
    [
      `scopes${policy}`,
      [
        rule(scopes, [...scopeKinds, 'apiexportscopes/content'], ['*']),
        // Other shards and the virtual workspaces trust the status: only the system writes it.
        rule(
          scopes,
          scopeKinds.map((kind) => `${kind}/status`),
          reading,
        ),
      ],
      boundGroup(authenticated),
    ],
    // Shards publish their URLs in the slices of other shards, and report about the scopes and sets of other shards.
    [
      `scopes-endpoints${policy}`,
      [
        rule(
          scopes,
          scopeKinds.map((kind) => `${kind}/status`),
          ['get', 'update', 'patch'],
        ),
      ],
      boundGroup('system:kcp:external-logical-cluster-admin'),
    ],
    ['tenancy:bind', [rule('apis.kcp.io', ['apiexports'], ['bind'], tenancy)], authenticated],
    ['topology:bind', [rule('apis.kcp.io', ['apiexports'], ['bind'], topology)], authenticated],
    ['scopes:bind', [rule('apis.kcp.io', ['apiexports'], ['bind'], scopes)], authenticated],
  ];
  for (const [name, rules, group] of roles) await grant(name, rules, group, modules);
}

/** A role about the exports of root, and its binding to a group. */
async function grant(role: string, rules: readonly JsonObject[], group: string, modules: Modules): Promise<void> {
  const apiVersion = `${rbacGroup}/v1`;
  const name = `system:kcp:apiexport:${role}`;
  const object: KubeObject = { apiVersion, kind: 'ClusterRole', metadata: { name }, rules: [...rules] };
  await ensure(rbac('clusterroles'), object, modules, ['rules']);
  const binding: KubeObject = {
    apiVersion,
    kind: 'ClusterRoleBinding',
    metadata: { name: `system:kcp:authenticated:apiexport:${role}` },
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name },
    subjects: [{ apiGroup: rbacGroup, kind: 'Group', name: group }],
  };
  await ensure(rbac('clusterrolebindings'), binding, modules, ['subjects']);
}

const ensure = (
  resource: GroupVersionResource,
  object: KubeObject,
  modules: Modules,
  lists: readonly string[] = [],
): Promise<void> => reconcileObject(resource, rootCluster, object, lists, modules);
