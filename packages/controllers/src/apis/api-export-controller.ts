import {
  hexSha256,
  clusterAnnotation,
  pathAnnotation,
  type DeepReadonly,
  type GroupVersionResource,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
  errorText,
} from '@multiplane/apimachinery';
import { apiExportEndpointSlices, apiExports, skipEndpointSliceAnnotation, type APIExport } from '@multiplane/apis';
import type { InformerSource, ObjectReference } from '@multiplane/client';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { ignoring, mutable, updateStatus } from '../runtime/update-status.ts';
import { shards, type Shard } from '../sharding/kinds.ts';
import { setKcpCondition, type KcpCondition } from '../tenancy/kcp-conditions.ts';
import { exportUrl } from './export-url.ts';

const secrets: GroupVersionResource = { group: '', version: 'v1', resource: 'secrets' };
const namespaces: GroupVersionResource = { group: '', version: 'v1', resource: 'namespaces' };
const identityNamespace = 'kcp-system';
const keyBytes = 32;
const urlsReady = 'VirtualWorkspaceURLsReady';

/**
 * Gives every APIExport its identity and its endpoint slice (C5.13).
 *
 * The identity is a secret: whoever knows the key behind the hash could claim to be the same API. An export without one
 * gets a new key in `kcp-system`; its hash is set once and never changed, since the objects of consumers are stored under
 * it. A secret that says something else afterwards is told in a condition.
 */
export function apiExportController(
  options: {
    readonly randomBytes: (size: number) => Buffer;
    /** Feature gate EnableDeprecatedAPIExportVirtualWorkspacesUrls: URLs of all shards stand in the status of exports. */
    readonly virtualWorkspaceUrls: boolean;
  },
  modules: ControllerModules & { readonly globalInformers: InformerSource },
): Controller {
  const { informers, globalInformers, client, clock } = modules;
  const exports = informers.informer<APIExport>(apiExports);
  const keys = informers.informer(secrets);
  const slices = informers.informer(apiExportEndpointSlices);
  const controller: Controller = new Controller({ name: 'apiexport', reconcile }, modules);
  exports.addHandlers({
    added: (_object, reference, wasThere) => controller.queue.add(keyOf(reference), wasThere),
    updated: (_object, _old, reference) => controller.queue.add(keyOf(reference)),
  });
  slices.addHandlers({
    deleted: (_old, { cluster, name }) => {
      if (exports.get({ cluster, namespace: '', name }) !== undefined)
        controller.queue.add(keyOf({ cluster, namespace: '', name }));
    },
  });
  const ofSecret = (cluster: LogicalClusterName, namespace: string, name: string): void => {
    for (const { metadata, spec } of exports.list({ cluster })) {
      const reference = spec?.identity?.secretRef;
      if (reference?.name === name && reference.namespace === namespace)
        controller.queue.add(keyOf({ cluster, namespace: '', name: metadata.name ?? '' }));
    }
  };
  keys.addHandlers({
    added: (_object, { cluster, namespace, name }) => ofSecret(cluster, namespace, name),
    updated: (_object, _old, { cluster, namespace, name }) => ofSecret(cluster, namespace, name),
  });

  const allShards = globalInformers.informer<Shard>(shards);
  if (options.virtualWorkspaceUrls) {
    const all = (): void => {
      for (const { metadata } of exports.list()) {
        const cluster = (metadata.annotations?.[clusterAnnotation] ?? '') as LogicalClusterName;
        controller.queue.add(keyOf({ cluster, namespace: '', name: metadata.name ?? '' }));
      }
    };
    allShards.addHandlers({
      added: all,
      updated: (shard, old) => {
        if (shard.spec.virtualWorkspaceURL !== old.spec.virtualWorkspaceURL) all();
      },
      deleted: all,
    });
  }

  async function reconcile(key: string): Promise<void> {
    const reference = referenceOf(key);
    const object = exports.get(reference);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return;
    const { cluster } = reference;
    const secretRef = object.spec?.identity?.secretRef;
    if (secretRef?.name === undefined || secretRef.name === '') {
      await createIdentity(object, cluster);
      return;
    }
    const hash = identityHash(
      keys.get({ cluster, namespace: secretRef.namespace ?? '', name: secretRef.name }),
      secretRef.name,
    );
    const { virtualWorkspaces: _urls, ...old } = object.status ?? {};
    const now = new Date(clock.now());
    let conditions = setKcpCondition(old.conditions, identityCondition(hash, old.identityHash), now);
    if (options.virtualWorkspaceUrls)
      conditions = setKcpCondition(conditions, { type: urlsReady, status: 'True' }, now);
    else conditions = conditions.filter(({ type }) => type !== urlsReady);
    const virtualWorkspaces = options.virtualWorkspaceUrls ? urlsOf(reference) : [];
    const status = {
      ...old,
      ...(virtualWorkspaces.length === 0 ? {} : { virtualWorkspaces }),
      ...(old.identityHash === undefined && 'hash' in hash ? { identityHash: hash.hash } : {}),
      conditions,
    };
    await updateStatus(client, apiExports, cluster, object, status as unknown as JsonObject);
    await ensureSlice(object, cluster);
  }

  function urlsOf({ cluster, name }: ObjectReference): { url: string }[] {
    const bases = new Set(allShards.list().map(({ spec }) => spec.virtualWorkspaceURL ?? ''));
    bases.delete('');
    return [...bases].map((base) => ({ url: exportUrl(base, cluster, name) })).sort((a, b) => (a.url < b.url ? -1 : 1));
  }

  async function createIdentity(object: DeepReadonly<APIExport>, cluster: LogicalClusterName): Promise<void> {
    const name = object.metadata.name ?? '';
    const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: identityNamespace } };
    const secret: KubeObject = {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      metadata: { name, namespace: identityNamespace },
      stringData: { key: options.randomBytes(keyBytes).toString('hex') },
    };
    try {
      await ignoring(['AlreadyExists'], () => client.create(namespaces, cluster, namespace));
      await ignoring(['AlreadyExists'], () => client.create(secrets, cluster, secret));
    } catch (error) {
      const condition = invalid('IdentityGenerationFailed', `Error creating identity secret: ${errorText(error)}`);
      const conditions = setKcpCondition(object.status?.conditions, condition, new Date(clock.now()));
      await updateStatus(client, apiExports, cluster, object, {
        ...object.status,
        conditions,
      } as unknown as JsonObject);
      throw error;
    }
    // Its event brings the key back.
    const identity = { ...object.spec?.identity, secretRef: { name, namespace: identityNamespace } };
    await client.update(apiExports, cluster, mutable(object, { spec: { ...object.spec, identity } }));
  }

  async function ensureSlice(object: DeepReadonly<APIExport>, cluster: LogicalClusterName): Promise<void> {
    const { name = '', uid = '', annotations = {} } = object.metadata;
    if (skipEndpointSliceAnnotation in annotations) return;
    if (slices.get({ cluster, namespace: '', name }) !== undefined) return;
    const slice: KubeObject = {
      apiVersion: 'apis.kcp.io/v1alpha1',
      kind: 'APIExportEndpointSlice',
      metadata: { name, ownerReferences: [{ apiVersion: 'apis.kcp.io/v1alpha1', kind: 'APIExport', name, uid }] },
      spec: { export: { name, path: annotations[pathAnnotation] ?? annotations[clusterAnnotation] ?? cluster } },
    };
    await ignoring(['AlreadyExists'], () => client.create(apiExportEndpointSlices, cluster, slice));
  }
  return controller;
}

type Hash = { readonly hash: string } | { readonly problem: string };

/** Lower-case hex SHA-256 of the key (C1.2). */
function identityHash(secret: DeepReadonly<KubeObject> | undefined, name: string): Hash {
  if (secret === undefined) return { problem: `secrets "${name}" not found` };
  const data = secret['data'] as Readonly<Record<string, string>> | undefined;
  const key =
    data !== undefined && Object.hasOwn(data, 'key') ? Buffer.from(data['key'] as string, 'base64') : undefined;
  if (key === undefined || key.length === 0) return { problem: 'secret is missing data.key' };
  return { hash: hexSha256(key) };
}

function identityCondition(hash: Hash, before: string | undefined): Omit<KcpCondition, 'lastTransitionTime'> {
  if ('problem' in hash) return invalid('IdentityVerificationFailed', hash.problem);
  return before === undefined || before === hash.hash
    ? { type: 'IdentityValid', status: 'True' }
    : invalid(
        'IdentityVerificationFailed',
        `hash mismatch: identity secret hash "${hash.hash}" must match status.identityHash "${before}"`,
      );
}

const invalid = (reason: string, message: string): Omit<KcpCondition, 'lastTransitionTime'> => ({
  type: 'IdentityValid',
  status: 'False',
  severity: 'Error',
  reason,
  message,
});
