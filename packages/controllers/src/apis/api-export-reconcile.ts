import {
  clusterAnnotation,
  errorText,
  pathAnnotation,
  type DeepReadonly,
  type GroupVersionResource,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { apiExportEndpointSlices, apiExports, skipEndpointSliceAnnotation, type APIExport } from '@multiplane/apis';
import type { InformerSource, Lister, ObjectReference } from '@multiplane/client';
import type { ControllerModules } from '../runtime/controller.ts';
import { setKcpCondition } from '../runtime/kcp-conditions.ts';
import { referenceOf } from '../runtime/object-key.ts';
import { ignoreReasons, updateStatus, withChanges } from '../runtime/object-writes.ts';
import { shards, type Shard } from '../sharding/kinds.ts';
import { identityCondition, identityHash, identityInvalid, secrets } from './api-export-identity.ts';
import { exportUrl } from './export-url.ts';

const namespaces: GroupVersionResource = { group: '', version: 'v1', resource: 'namespaces' };
const identityNamespace = 'kcp-system';
const keyBytes = 32;
const urlsReady = 'VirtualWorkspaceURLsReady';

export interface APIExportOptions {
  readonly randomBytes: (size: number) => Buffer;
  /** Feature gate EnableDeprecatedAPIExportVirtualWorkspacesUrls: `status.virtualWorkspaces` has the URLs of all shards. */
  readonly virtualWorkspaceUrls: boolean;
}

/**
 * Reconciles one APIExport. The identity is secret: with the key behind the hash another export could claim to be the same
 * API. An export without a secret gets a new key in the namespace `kcp-system`. `status.identityHash` is set once and
 * never changed, because the objects of consumers are stored under it; a secret that no longer matches is reported in the
 * condition IdentityValid.
 */
export class APIExportReconciler {
  readonly #options: APIExportOptions;
  readonly #modules: ControllerModules;
  readonly #exports: Lister<APIExport>;
  readonly #secrets: Lister;
  readonly #slices: Lister;
  readonly #shards: Lister<Shard>;

  constructor(options: APIExportOptions, modules: ControllerModules & { readonly globalInformers: InformerSource }) {
    const { informers, globalInformers } = modules;
    this.#options = options;
    this.#modules = modules;
    this.#exports = informers.informer<APIExport>(apiExports);
    this.#secrets = informers.informer(secrets);
    this.#slices = informers.informer(apiExportEndpointSlices);
    this.#shards = globalInformers.informer<Shard>(shards);
  }

  async reconcile(key: string): Promise<void> {
    const { client, clock } = this.#modules;
    const { virtualWorkspaceUrls } = this.#options;
    const reference = referenceOf(key);
    const object = this.#exports.get(reference);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return;
    const { cluster } = reference;
    const secretRef = object.spec?.identity?.secretRef;
    if (secretRef === undefined) {
      await this.#createIdentity(object, cluster);
      return;
    }
    const { name = '', namespace = '' } = secretRef;
    const identity = identityHash(this.#secrets.get({ cluster, namespace, name }), name);
    const { virtualWorkspaces: _urls, ...current } = object.status ?? {};
    const now = new Date(clock.now());
    let conditions = setKcpCondition(current.conditions, identityCondition(identity, current.identityHash), now);
    conditions = virtualWorkspaceUrls
      ? setKcpCondition(conditions, { type: urlsReady, status: 'True' }, now)
      : conditions.filter(({ type }) => type !== urlsReady);
    const virtualWorkspaces = virtualWorkspaceUrls ? this.#urlsOf(reference) : [];
    const status = {
      ...current,
      ...(virtualWorkspaces.length === 0 ? {} : { virtualWorkspaces }),
      ...(current.identityHash === undefined && 'hash' in identity ? { identityHash: identity.hash } : {}),
      conditions,
    };
    await updateStatus(client, apiExports, cluster, object, status as unknown as JsonObject);
    await this.#ensureEndpointSlice(object, cluster);
  }

  #urlsOf({ cluster, name }: ObjectReference): { url: string }[] {
    const bases = new Set(this.#shards.list().map(({ spec }) => spec.virtualWorkspaceURL ?? ''));
    bases.delete('');
    return [...bases].map((base) => ({ url: exportUrl(base, cluster, name) })).sort((a, b) => (a.url < b.url ? -1 : 1));
  }

  /** Creates a secret with a new key and refers to it; the event of that write requeues the export. */
  async #createIdentity(object: DeepReadonly<APIExport>, cluster: LogicalClusterName): Promise<void> {
    const { client, clock } = this.#modules;
    const name = object.metadata.name ?? '';
    const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: identityNamespace } };
    const secret: KubeObject = {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      metadata: { name, namespace: identityNamespace },
      stringData: { key: this.#options.randomBytes(keyBytes).toString('hex') },
    };
    try {
      await ignoreReasons(['AlreadyExists'], () => client.create(namespaces, cluster, namespace));
      await ignoreReasons(['AlreadyExists'], () => client.create(secrets, cluster, secret));
    } catch (error) {
      const message = `Error creating identity secret: ${errorText(error)}`;
      const condition = identityInvalid('IdentityGenerationFailed', message);
      const conditions = setKcpCondition(object.status?.conditions, condition, new Date(clock.now()));
      const status = { ...object.status, conditions } as unknown as JsonObject;
      await updateStatus(client, apiExports, cluster, object, status);
      throw error;
    }
    const identity = { ...object.spec?.identity, secretRef: { name, namespace: identityNamespace } };
    await client.update(apiExports, cluster, withChanges(object, { spec: { ...object.spec, identity } }));
  }

  async #ensureEndpointSlice(object: DeepReadonly<APIExport>, cluster: LogicalClusterName): Promise<void> {
    const { name = '', uid = '', annotations = {} } = object.metadata;
    if (skipEndpointSliceAnnotation in annotations) return;
    if (this.#slices.get({ cluster, namespace: '', name }) !== undefined) return;
    const slice: KubeObject = {
      apiVersion: 'apis.kcp.io/v1alpha1',
      kind: 'APIExportEndpointSlice',
      metadata: { name, ownerReferences: [{ apiVersion: 'apis.kcp.io/v1alpha1', kind: 'APIExport', name, uid }] },
      spec: { export: { name, path: annotations[pathAnnotation] ?? annotations[clusterAnnotation] ?? cluster } },
    };
    await ignoreReasons(['AlreadyExists'], () => this.#modules.client.create(apiExportEndpointSlices, cluster, slice));
  }
}
