import {
  errorText,
  formatTime,
  type DeepReadonly,
  type GroupVersionResource,
  type JsonObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  cachedGroupVersionResource,
  cachedResourceEndpointSlices,
  cachedResourceFinalizer,
  cachedResources,
  defaultSliceOf,
  resourceKindAnnotation,
  resourceScopeAnnotation,
  skipCachedResourceSliceAnnotation,
  type CachedResource,
} from '@multiplane/apis';
import type { Lister, ObjectReference } from '@multiplane/client';
import {
  identityCondition,
  identityHash as hashOfSecret,
  identityInvalid,
  secrets,
  type IdentityHash,
} from '../apis/api-export-identity.ts';
import type { ControllerModules } from '../runtime/controller.ts';
import { setKcpCondition, type KcpCondition, type NewKcpCondition } from '../runtime/kcp-conditions.ts';
import { referenceOf } from '../runtime/object-key.ts';
import { ignoreReasons, updateStatus, withChanges } from '../runtime/object-writes.ts';
import type { CacheOutage } from './cache-monitor.ts';
import type { CachedResourceReplicator } from './cached-resource-replicator.ts';
import { createIdentitySecret, identityNamespace } from './identity-secret.ts';

/** A resource as a logical cluster serves it. */
export interface ServedResourceSpec {
  readonly kind: string;
  readonly namespaced: boolean;
  /** Its objects are not stored in the logical cluster: an APIExport serves them by `storage.virtual`. */
  readonly isVirtual: boolean;
}

export interface CachedResourceReconcilerModules extends ControllerModules {
  /** Undefined: the logical cluster does not serve the resource in this version. */
  readonly servedResource: (
    cluster: LogicalClusterName,
    resource: GroupVersionResource,
  ) => ServedResourceSpec | undefined;
}

interface Modules extends CachedResourceReconcilerModules {
  readonly replicator: CachedResourceReplicator;
  /** Undefined: the cache is reached. */
  readonly cacheOutage: () => CacheOutage | undefined;
}

type Status = NonNullable<CachedResource['status']>;

/** Interval of checks for a resource that is not served, in addition to those after changes of CRDs and APIBindings. */
const retryMs = 5_000;
const purgeMs = 100;

/**
 * One pass over one CachedResource. It depends on stored state only, and ends once it has written the metadata or the
 * reference to a new identity secret; the event of that write requeues the key.
 */
export class CachedResourceReconciler {
  readonly #options: { readonly randomBytes: (size: number) => Buffer };
  readonly #modules: Modules;
  readonly #objects: Lister<CachedResource>;
  readonly #secrets: Lister;
  readonly #slices: Lister;

  constructor(options: { readonly randomBytes: (size: number) => Buffer }, modules: Modules) {
    this.#options = options;
    this.#modules = modules;
    this.#objects = modules.informers.informer<CachedResource>(cachedResources);
    this.#secrets = modules.informers.informer(secrets);
    this.#slices = modules.informers.informer(cachedResourceEndpointSlices);
  }

  async reconcile(key: string): Promise<number | void> {
    const { replicator } = this.#modules;
    const reference = referenceOf(key);
    const object = this.#objects.get(reference);
    if (object === undefined) {
      replicator.stop(key);
      return;
    }
    if (object.metadata.deletionTimestamp !== undefined) return this.#finalize(key, object, reference);
    await this.#ensureSlice(object, reference);
    const resource = cachedGroupVersionResource(object);
    const served = this.#modules.servedResource(reference.cluster, resource);
    if (served === undefined || served.isVirtual) {
      if (served !== undefined) replicator.stop(key);
      await this.#writeStatus(object, reference, {}, invalidResource(served === undefined, resource));
      return retryMs;
    }
    if (await this.#updateMetadata(object, reference, served)) return;
    const identity = await this.#identityOf(object, reference);
    if (identity === undefined) return;
    const { status = {} } = object;
    const identityHash = status.identityHash ?? ('hash' in identity.hash ? identity.hash.hash : undefined);
    if (identity.condition.status !== 'True' || identityHash === undefined) {
      replicator.stop(key);
      await this.#writeStatus(object, reference, {}, identity.condition);
      return;
    }
    replicator.ensure(key, object, identityHash);
    const counts = replicator.counts(key);
    await this.#writeStatus(
      object,
      reference,
      counts === undefined ? { identityHash } : { identityHash, phase: 'Ready', resourceCounts: { ...counts } },
      identity.condition,
      { type: 'ResourceValid', status: 'True' },
      ...(counts === undefined ? [] : [{ type: 'ReplicationStarted', status: 'True' } as const]),
    );
  }

  /**
   * Before everything else: the slice depends on nothing. The garbage collector deletes it with its owner, if it is still the
   * one that was made.
   */
  async #ensureSlice(object: DeepReadonly<CachedResource>, { cluster, name }: ObjectReference): Promise<void> {
    if (Object.hasOwn(object.metadata.annotations ?? {}, skipCachedResourceSliceAnnotation)) return;
    if (this.#slices.get({ cluster, namespace: '', name }) !== undefined) return;
    await ignoreReasons(['AlreadyExists'], () =>
      this.#modules.client.create(cachedResourceEndpointSlices, cluster, defaultSliceOf(object)),
    );
  }

  async #writeStatus(
    object: DeepReadonly<CachedResource>,
    { cluster }: ObjectReference,
    changes: Partial<Status>,
    ...changed: NewKcpCondition[]
  ): Promise<void> {
    const { client, clock } = this.#modules;
    const now = new Date(clock.now());
    let { conditions } = object.status ?? {};
    for (const condition of changed) conditions = setKcpCondition(conditions, condition, now);
    conditions = withReachability(conditions, this.#modules.cacheOutage(), now);
    const status = { phase: 'Initializing', ...object.status, ...changes, conditions };
    await updateStatus(client, cachedResources, cluster, object, status as unknown as JsonObject);
  }

  /** Writes finalizer and annotations in one request. True: the object changed; its event requeues it. */
  async #updateMetadata(
    object: DeepReadonly<CachedResource>,
    { cluster }: ObjectReference,
    { kind, namespaced }: ServedResourceSpec,
  ): Promise<boolean> {
    const { finalizers = [], annotations = {} } = object.metadata;
    const scope = namespaced ? 'Namespaced' : 'Cluster';
    const isMarked = annotations[resourceKindAnnotation] === kind && annotations[resourceScopeAnnotation] === scope;
    if (isMarked && finalizers.includes(cachedResourceFinalizer)) return false;
    const metadata = {
      annotations: { ...annotations, [resourceKindAnnotation]: kind, [resourceScopeAnnotation]: scope },
      finalizers: [...new Set([...finalizers, cachedResourceFinalizer])],
    };
    await this.#modules.client.update(cachedResources, cluster, withChanges(object, { metadata }));
    return true;
  }

  /** Undefined: the secret was created and is now referenced; the event of that change requeues the object. */
  async #identityOf(
    object: DeepReadonly<CachedResource>,
    reference: ObjectReference,
  ): Promise<{ readonly hash: IdentityHash; readonly condition: NewKcpCondition } | undefined> {
    const { cluster } = reference;
    const secretRef = object.spec?.identity?.secretRef;
    if (secretRef?.name !== undefined && secretRef.name !== '') {
      const { name, namespace = '' } = secretRef;
      const hash = hashOfSecret(this.#secrets.get({ cluster, namespace, name }), name);
      return { hash, condition: withAdvice(identityCondition(hash, object.status?.identityHash), namespace, name) };
    }
    const { name } = reference;
    try {
      await createIdentitySecret(
        { name, randomBytes: this.#options.randomBytes },
        { client: this.#modules.client, cluster },
      );
    } catch (error) {
      const message = `Error creating identity secret: ${errorText(error)}`;
      await this.#writeStatus(object, reference, {}, identityInvalid('IdentityGenerationFailed', message));
      throw error;
    }
    const identity = { ...object.spec?.identity, secretRef: { name, namespace: identityNamespace } };
    await this.#modules.client.update(
      cachedResources,
      cluster,
      withChanges(object, { spec: { ...object.spec, identity } }),
    );
    return undefined;
  }

  async #finalize(
    key: string,
    object: DeepReadonly<CachedResource>,
    reference: ObjectReference,
  ): Promise<number | void> {
    const { replicator, client } = this.#modules;
    const { finalizers = [] } = object.metadata;
    replicator.stop(key);
    if (!finalizers.includes(cachedResourceFinalizer)) return;
    const { phase, identityHash, resourceCounts } = object.status ?? {};
    if (phase === 'Deleted') {
      const metadata = { finalizers: finalizers.filter((name) => name !== cachedResourceFinalizer) };
      await client.update(cachedResources, reference.cluster, withChanges(object, { metadata }));
      return;
    }
    if (phase !== 'Deleting') {
      await this.#writeStatus(object, reference, { phase: 'Deleting' }, deleting);
      return;
    }
    const kind = { ...cachedGroupVersionResource(object), identity: identityHash };
    if (identityHash !== undefined && !(await replicator.purge(key, kind))) return purgeMs;
    const counts = resourceCounts === undefined ? {} : { resourceCounts: { ...resourceCounts, cache: 0 } };
    await this.#writeStatus(object, reference, { phase: 'Deleted', ...counts });
  }
}

const deleting: NewKcpCondition = {
  type: 'ResourceValid',
  status: 'False',
  severity: 'Info',
  reason: 'Deleting',
  message: 'Published resource deleting',
};

function invalidResource(isMissing: boolean, { group, version, resource }: GroupVersionResource): NewKcpCondition {
  const name = `${resource}.${version}${group === '' ? '' : `.${group}`}`;
  return {
    type: 'ResourceValid',
    status: 'False',
    severity: 'Error',
    reason: isMissing ? 'NoResources' : 'ResourceVirtual',
    message: isMissing
      ? `${name} is not served in this workspace: create its CustomResourceDefinition or APIBinding`
      : `${name} is a virtual resource of an APIExport and has no objects in this workspace: cache it in the workspace of its provider`,
  };
}

/** Adds to a failed identity verification how the owner of the CachedResource restores it. */
function withAdvice(condition: NewKcpCondition, namespace: string, name: string): NewKcpCondition {
  if (condition.status === 'True') return condition;
  const advice = `restore data.key of secret ${namespace}/${name}, or create the CachedResource again`;
  return { ...condition, message: `${condition.message ?? ''}; ${advice}` };
}

/**
 * Reports since when consumers read an old state, and that they no longer do. A CachedResource that has seen no outage has
 * only the conditions of kcp.
 */
function withReachability(
  conditions: readonly DeepReadonly<KcpCondition>[] | undefined,
  outage: CacheOutage | undefined,
  now: Date,
): readonly DeepReadonly<KcpCondition>[] | undefined {
  const type = 'CacheReachable';
  if (outage === undefined)
    return conditions?.some((condition) => condition.type === type) === true
      ? setKcpCondition(conditions, { type, status: 'True' }, now)
      : conditions;
  const since = new Date(outage.since);
  const message =
    `the cache cannot be reached since ${formatTime(since)}: consumers read the state of that time, ` +
    `changes are published when it is back (${outage.reason})`;
  return setKcpCondition(
    conditions,
    { type, status: 'False', severity: 'Warning', reason: 'CacheUnreachable', message },
    since,
  );
}
