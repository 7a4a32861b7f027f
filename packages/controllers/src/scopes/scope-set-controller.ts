import {
  deepEqual,
  errorText,
  hexSha256,
  type DeepReadonly,
  type Json,
  type JsonObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  apiExportScopes,
  apiExportScopeSets,
  scopeLabel,
  scopesApiVersion,
  type APIExportScope,
  type APIExportScopeSet,
} from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { setKcpCondition, type NewKcpCondition } from '../runtime/kcp-conditions.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { ignoreReasons, updateStatus, withChanges } from '../runtime/object-writes.ts';

/**
 * Keeps one APIExportScope per value of an APIExportScopeSet: creates missing ones, updates them to the template, and deletes
 * those whose value is no longer listed. Scopes without an owner reference to the set are not changed; if one has the name that
 * a value needs, the condition ScopesReady reports it.
 */
export function scopeSetController(modules: ControllerModules): Controller {
  const { informers, client, clock } = modules;
  const sets = informers.informer<APIExportScopeSet>(apiExportScopeSets);
  const scopes = informers.informer<APIExportScope>(apiExportScopes);
  const controller: Controller = new Controller({ name: 'apiexportscopeset', reconcile }, modules);
  const { queue } = controller;
  sets.addHandlers({
    added: (_set, reference) => queue.add(keyOf(reference)),
    updated: (_set, _old, reference) => queue.add(keyOf(reference)),
  });
  const enqueueOwner = (scope: DeepReadonly<APIExportScope>, { cluster }: ObjectReference): void => {
    for (const { kind, name } of scope.metadata.ownerReferences ?? [])
      if (kind === 'APIExportScopeSet') queue.add(keyOf({ cluster, namespace: '', name }));
  };
  scopes.addHandlers({
    updated: (scope, old, reference) => {
      if (!deepEqual(scope.spec ?? null, old.spec ?? null)) enqueueOwner(scope, reference);
    },
    deleted: enqueueOwner,
  });

  async function reconcile(key: string): Promise<void> {
    const reference = referenceOf(key);
    const set = sets.get(reference);
    if (set === undefined || set.metadata.deletionTimestamp !== undefined) return;
    const taken = await syncScopes(set, reference.cluster);
    await writeStatus(
      set,
      reference.cluster,
      taken === undefined
        ? { type: 'ScopesReady', status: 'True' }
        : { type: 'ScopesReady', status: 'False', severity: 'Error', reason: 'ErrorCreatingScopes', message: taken },
    );
  }

  /** Returns why a scope could not be created. */
  async function syncScopes(
    set: DeepReadonly<APIExportScopeSet>,
    cluster: LogicalClusterName,
  ): Promise<string | undefined> {
    const missing = new Map((set.spec?.values ?? []).map((value) => [value, scopeOf(set, value)]));
    for (const scope of scopes.list({ cluster })) {
      if (!isOwned(scope, set)) continue;
      const value = scopeLabel(scope)?.value ?? '';
      const wanted = missing.get(value);
      missing.delete(value);
      if (wanted !== undefined && scope.metadata.name === wanted.metadata.name) {
        if (deepEqual(scope.spec ?? null, (wanted.spec ?? null) as Json)) continue;
        await client.update(apiExportScopes, cluster, withChanges(scope, { spec: wanted.spec }));
        continue;
      }
      const name = scope.metadata.name ?? '';
      await ignoreReasons(['NotFound'], () => client.delete(apiExportScopes, { cluster, namespace: '', name }));
    }
    let problem: string | undefined;
    for (const scope of missing.values()) {
      try {
        await client.create(apiExportScopes, cluster, scope);
      } catch (error) {
        // The informer may not show yet what an earlier pass created.
        const { name = '' } = scope.metadata;
        const existing = scopes.get({ cluster, namespace: '', name });
        if (existing === undefined || !isOwned(existing, set)) problem ??= errorText(error);
      }
    }
    return problem;
  }

  async function writeStatus(
    set: DeepReadonly<APIExportScopeSet>,
    cluster: LogicalClusterName,
    condition: NewKcpCondition,
  ): Promise<void> {
    const conditions = setKcpCondition(set.status?.conditions, condition, new Date(clock.now()));
    const status = { ...set.status, count: set.spec?.values.length ?? 0, conditions };
    await updateStatus(client, apiExportScopeSets, cluster, set, status as unknown as JsonObject);
  }
  return controller;
}

const isOwned = ({ metadata }: DeepReadonly<APIExportScope>, set: DeepReadonly<APIExportScopeSet>): boolean =>
  metadata.ownerReferences?.some(({ uid }) => uid === set.metadata.uid) === true;

function scopeOf({ metadata, spec }: DeepReadonly<APIExportScopeSet>, value: string): APIExportScope {
  const { name = '', uid = '' } = metadata;
  const owner = {
    apiVersion: scopesApiVersion,
    kind: 'APIExportScopeSet',
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  return {
    apiVersion: scopesApiVersion,
    kind: 'APIExportScope',
    metadata: { name: scopeName(name, value), ownerReferences: [owner] },
    spec: {
      ...(spec?.template as APIExportScope['spec']),
      export: { ...(spec?.export ?? { name: '' }) },
      selector: { matchLabels: { [spec?.labelKey ?? '']: value } },
    },
  };
}

/** `<set>-<value>`, so that RBAC can name the scope before it exists; a value that is no DNS label is replaced by its hash. */
const scopeName = (set: string, value: string): string =>
  `${set}-${/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(value) ? value : hexSha256(value).slice(0, 10)}`;
