import { clusterAnnotation, type DeepReadonly, type JsonObject, type KubeObject } from '@multiplane/apimachinery';
import {
  apiExportScopeEndpointSlices,
  apiExportScopes,
  isFieldKey,
  scopeSelector,
  scopesApiVersion,
  scopesOverlap,
  shownKey,
  skipScopeSliceAnnotation,
  type APIExport,
  type APIExportScope,
  type APIExportScopeEndpointSlice,
  type ScopeSelector,
} from '@multiplane/apis';
import type { InformerSource, Lister, ObjectReference, PathAndNameLookup } from '@multiplane/client';
import { ExportFinder } from '../apis/export-finder.ts';
import type { ControllerModules } from '../runtime/controller.ts';
import { EventRecorder } from '../runtime/event-recorder.ts';
import { setKcpCondition, type KcpCondition, type NewKcpCondition } from '../runtime/kcp-conditions.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { ignoreReasons, updateStatus } from '../runtime/object-writes.ts';
import { shards } from '../sharding/kinds.ts';
import { recordConditionEvents } from './condition-events.ts';
import { FieldSelectability } from './field-selectability.ts';
import { findScopeExport } from './scope-export-condition.ts';
import { KeyIndex } from './key-index.ts';
import { scopeExportReference, scopeKeyOfSlice, scopeSelectorText } from './scope-references.ts';
import { reportsOfPresentShards } from './shard-reports.ts';

type Status = NonNullable<APIExportScope['status']>;

export interface ScopeControllerModules extends ControllerModules {
  /** Exports and scopes of all shards. */
  readonly globalInformers: InformerSource;
  readonly exports: PathAndNameLookup<APIExport>;
}

export interface ScopeReconcilerModules extends ScopeControllerModules {
  /** Keys of the scopes of all shards with a key and value, by `<key>=<value>`. */
  readonly peers: (text: string) => ReadonlySet<string>;
  readonly requeue: (key: string) => void;
}

/** One pass over one APIExportScope. */
export class ScopeReconciler {
  readonly #modules: ScopeReconcilerModules;
  readonly #scopes: Lister<APIExportScope>;
  readonly #allScopes: Lister<APIExportScope>;
  readonly #slices: Lister<APIExportScopeEndpointSlice>;
  readonly #slicesByScope: KeyIndex<APIExportScopeEndpointSlice>;
  readonly #shards: Lister;
  readonly #finder: ExportFinder;
  readonly #selectability: FieldSelectability;
  readonly #events: EventRecorder;

  constructor(modules: ScopeReconcilerModules) {
    const { informers, globalInformers } = modules;
    this.#modules = modules;
    this.#scopes = informers.informer<APIExportScope>(apiExportScopes);
    this.#allScopes = globalInformers.informer<APIExportScope>(apiExportScopes);
    const slices = informers.informer<APIExportScopeEndpointSlice>(apiExportScopeEndpointSlices);
    this.#slices = slices;
    this.#slicesByScope = new KeyIndex({ textOf: scopeKeyOfSlice }, { informer: slices });
    this.#shards = globalInformers.informer(shards);
    this.#finder = new ExportFinder(modules);
    this.#selectability = new FieldSelectability(modules);
    this.#events = new EventRecorder({ component: 'apiexportscope-controller', counts: true }, modules);
  }

  async reconcile(key: string): Promise<void> {
    const reference = referenceOf(key);
    const scope = this.#scopes.get(reference);
    if (scope === undefined || scope.metadata.deletionTimestamp !== undefined) return;
    await this.#ensureSlice(scope, reference);
    const status = this.#evaluate(scope, reference);
    if (status === undefined) return;
    await recordConditionEvents(this.#events, reference.cluster, scope, scope.status?.conditions, status.conditions);
    await updateStatus(
      this.#modules.client,
      apiExportScopes,
      reference.cluster,
      scope,
      status as unknown as JsonObject,
    );
  }

  /** Undefined while exports are not synced. */
  #evaluate(scope: DeepReadonly<APIExportScope>, reference: ObjectReference): Status | undefined {
    const now = new Date(this.#modules.clock.now());
    let conditions = scope.status?.conditions as KcpCondition[] | undefined;
    const set = (condition: NewKcpCondition): void => void (conditions = setKcpCondition(conditions, condition, now));
    const selector = scopeSelector(scope);
    const found = findScopeExport(this.#finder, scopeExportReference(scope), reference, scope.status?.exportCluster);
    if (found === undefined) return undefined;
    set(found.condition);
    const exportCluster = scope.status?.exportCluster ?? found.cluster;
    const older = exportCluster === undefined ? undefined : this.#olderOverlapping(scope, reference, exportCluster);
    set(older === undefined ? { type: 'SelectorValid', status: 'True' } : overlapping(older, reference));
    const selectable =
      found.object === undefined ? undefined : this.#selectability.condition(found.object, scope.spec, selector?.key);
    if (selectable !== undefined) set(selectable);
    // A scope whose export is gone stays in force, so that its values are still protected if the export returns.
    const identityHash = older === undefined ? (found.identityHash ?? scope.status?.identityHash) : undefined;
    set(this.#endpointsCondition(reference, identityHash !== undefined));
    return {
      ...shownSelector(selector),
      ...(exportCluster === undefined ? {} : { exportCluster }),
      ...(identityHash === undefined ? {} : { identityHash }),
      ...reportsOfPresentShards(scope.status?.shards, this.#shards),
      ...(conditions === undefined ? {} : { conditions }),
    };
  }

  #olderOverlapping(
    scope: DeepReadonly<APIExportScope>,
    reference: ObjectReference,
    exportCluster: string,
  ): ObjectReference | undefined {
    const rank = rankOf(scope, reference);
    for (const key of this.#modules.peers(scopeSelectorText(scope) ?? '')) {
      const other = referenceOf(key);
      const peer = this.#allScopes.get(other);
      if (peer === undefined || peer.metadata.deletionTimestamp !== undefined) continue;
      if (peer.spec?.export.name !== scope.spec?.export.name || !scopesOverlap(scope, peer)) continue;
      if (this.#exportClusterOf(peer, other) === exportCluster && rankOf(peer, other) < rank) return other;
    }
    return undefined;
  }

  /** A scope that was created a moment ago on another shard has no status yet. */
  #exportClusterOf(peer: DeepReadonly<APIExportScope>, { cluster }: ObjectReference): string | undefined {
    return (
      peer.status?.exportCluster ??
      this.#finder.lookup(scopeExportReference(peer), cluster)?.metadata.annotations?.[clusterAnnotation]
    );
  }

  #endpointsCondition(reference: ObjectReference, isInForce: boolean): NewKcpCondition {
    const notReady = { type: 'EndpointsReady', status: 'False', severity: 'Info' } as const;
    if (!isInForce) return { ...notReady, reason: 'NotInForce', message: 'see the other conditions' };
    const slices = Array.from(this.#slicesByScope.of(keyOf(reference)), (key) => this.#slices.get(referenceOf(key)));
    if (slices.some((slice) => (slice?.status?.endpoints ?? []).length > 0))
      return { type: 'EndpointsReady', status: 'True' };
    return slices.length === 0
      ? { ...notReady, reason: 'NoEndpointSlice', message: 'no APIExportScopeEndpointSlice names this scope' }
      : { ...notReady, reason: 'NoConsumers', message: 'no shard has an APIBinding to the APIExport' };
  }

  async #ensureSlice(scope: DeepReadonly<APIExportScope>, { cluster }: ObjectReference): Promise<void> {
    const { name = '', uid = '', annotations = {} } = scope.metadata;
    if (skipScopeSliceAnnotation in annotations) return;
    if (this.#slices.get({ cluster, namespace: '', name }) !== undefined) return;
    const slice: KubeObject = {
      apiVersion: scopesApiVersion,
      kind: 'APIExportScopeEndpointSlice',
      metadata: { name, ownerReferences: [{ apiVersion: scopesApiVersion, kind: 'APIExportScope', name, uid }] },
      spec: { scope: { name } },
    };
    await ignoreReasons(['AlreadyExists'], () =>
      this.#modules.client.create(apiExportScopeEndpointSlices, cluster, slice),
    );
  }
}

function shownSelector(selector: ScopeSelector | undefined): Status {
  if (selector === undefined) return {};
  const { key, value } = selector;
  return { key: shownKey(key), value, ...(isFieldKey(key) ? {} : { labelKey: key, labelValue: value }) };
}

/** Scopes are ordered by age; those of one second by their reference. */
const rankOf = ({ metadata }: DeepReadonly<APIExportScope>, { cluster, name }: ObjectReference): string =>
  `${metadata.creationTimestamp ?? ''} ${cluster} ${name}`;

const overlapping = (older: ObjectReference, { cluster }: ObjectReference): NewKcpCondition => ({
  type: 'SelectorValid',
  status: 'False',
  severity: 'Error',
  reason: 'Overlap',
  // The owner of a scope in another workspace may be another tenant.
  message: `${older.cluster === cluster ? `APIExportScope ${older.name}` : 'an older APIExportScope'} has the same key and value`,
});
