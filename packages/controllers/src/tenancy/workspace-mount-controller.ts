import {
  isJsonObject,
  isStatusError,
  type DeepReadonly,
  type GroupVersionResource,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { withChanges, updateStatus } from '../runtime/object-writes.ts';
import { setKcpCondition, type NewKcpCondition } from '../runtime/kcp-conditions.ts';
import { phaseLabel, workspaces, type Phase, type Workspace } from './kinds.ts';

interface WorkspaceMountModules extends ControllerModules {
  /** The resource that serves a kind in a logical cluster; undefined if none does. */
  readonly resourceOfKind: (
    cluster: LogicalClusterName,
    apiVersion: string,
    kind: string,
  ) => { readonly resource: GroupVersionResource; readonly namespaced: boolean } | undefined;
}

type MountReference = NonNullable<NonNullable<NonNullable<Workspace['spec']>['mount']>['ref']>;

/** Polling interval while the kind of the mount object is not served: no event reports that it is. */
const kindRecheckMs = 10_000;

/**
 * Mounted Workspaces (kcp: pkg/reconciler/tenancy/workspacemounts): `spec.mount.ref` refers to an object in the same
 * logical cluster, of any kind. Its `status.URL` becomes the URL of the Workspace, and its `status.phase`
 * decides whether the Workspace is Ready.
 *
 * The metadata informer reports changes of all objects, and an index finds the Workspaces that refer to them; nothing is
 * watched per Workspace or kind.
 */
export function workspaceMountController(modules: WorkspaceMountModules): Controller {
  const { informers, client, clock, resourceOfKind } = modules;
  const lister = informers.informer<Workspace>(workspaces);
  const controller: Controller = new Controller({ name: 'workspace-mounts', reconcile }, modules);
  /** Keys of Workspaces by the object they refer to, as {@link mountKey}. */
  const byReference = new Map<string, Set<string>>();
  const unindex = (workspace: DeepReadonly<Workspace>, key: string, cluster: LogicalClusterName): void => {
    const ref = referenceKey(cluster, workspace.spec?.mount?.ref);
    const keys = ref === undefined ? undefined : byReference.get(ref);
    keys?.delete(key);
    if (keys?.size === 0) byReference.delete(ref as string);
  };
  const indexAndEnqueue = (workspace: DeepReadonly<Workspace>, key: string, cluster: LogicalClusterName): void => {
    const ref = referenceKey(cluster, workspace.spec?.mount?.ref);
    if (ref === undefined) return;
    let keys = byReference.get(ref);
    if (keys === undefined) {
      keys = new Set();
      byReference.set(ref, keys);
    }
    keys.add(key);
    controller.queue.add(key);
  };
  lister.addHandlers({
    added: (workspace, reference) => indexAndEnqueue(workspace, keyOf(reference), reference.cluster),
    updated: (workspace, old, reference) => {
      unindex(old, keyOf(reference), reference.cluster);
      indexAndEnqueue(workspace, keyOf(reference), reference.cluster);
    },
    deleted: (old, reference) => unindex(old, keyOf(reference), reference.cluster),
  });
  const mountChanged = (record: {
    readonly cluster: LogicalClusterName;
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
    readonly resource: GroupVersionResource;
  }): void => {
    if (byReference.size === 0) return;
    const { group } = record.resource;
    const ref = mountKey(record.cluster, group, record.kind, record.namespace, record.name);
    for (const key of byReference.get(ref) ?? []) controller.queue.add(key);
  };
  informers.metadata.addHandlers({ changed: mountChanged, deleted: mountChanged });

  async function reconcile(key: string): Promise<number | void> {
    const { cluster, ...reference } = referenceOf(key);
    const workspace = lister.get({ cluster, ...reference });
    const ref = workspace?.spec?.mount?.ref;
    if (workspace === undefined || ref === undefined || workspace.metadata.deletionTimestamp !== undefined) return;
    // A mount that is added to a workspace with a logical cluster has no effect.
    if (workspace.spec?.cluster !== undefined) return;
    const served = resourceOfKind(cluster, ref.apiVersion ?? '', ref.kind ?? '');
    const object = served === undefined ? undefined : await getMount(served.resource, cluster, ref);
    const status = object?.['status'];
    const { URL: url, phase } = (isJsonObject(status) ? status : {}) as { URL?: unknown; phase?: unknown };
    if (typeof url === 'string' && url !== '' && workspace.spec?.URL !== url) {
      await client.update(workspaces, cluster, withChanges(workspace, { spec: { ...workspace.spec, URL: url } }));
      return;
    }
    await writeStatus(workspace, cluster, conditionOf(ref, object, phase));
    return served === undefined ? kindRecheckMs : undefined;
  }

  async function getMount(
    resource: GroupVersionResource,
    cluster: LogicalClusterName,
    ref: DeepReadonly<MountReference>,
  ): Promise<KubeObject | undefined> {
    try {
      const reference = { cluster, namespace: ref.namespace ?? '', name: ref.name ?? '' };
      return await client.get(resource, reference);
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  async function writeStatus(
    workspace: DeepReadonly<Workspace>,
    cluster: LogicalClusterName,
    condition: NewKcpCondition,
  ): Promise<void> {
    const phase: Phase = condition.status === 'True' ? 'Ready' : 'Unavailable';
    const conditions = setKcpCondition(workspace.status?.conditions, condition, new Date(clock.now()));
    const status = { ...workspace.status, phase, conditions } as unknown as JsonObject;
    if (await updateStatus(client, workspaces, cluster, workspace, status)) return;
    const { labels = {} } = workspace.metadata;
    if (labels[phaseLabel] === phase) return;
    const metadata = { labels: { ...labels, [phaseLabel]: phase } };
    await client.update(workspaces, cluster, withChanges(workspace, { metadata }));
  }
  return controller;
}

function conditionOf(
  ref: DeepReadonly<MountReference>,
  object: KubeObject | undefined,
  phase: unknown,
): NewKcpCondition {
  const type = 'WorkspaceMountReady';
  const kind = ref.kind ?? '';
  if (object === undefined) {
    const message = `${kind} "${ref.namespace ?? ''}/${ref.name ?? ''}" not found`;
    return { type, status: 'False', severity: 'Error', reason: 'MountObjectNotFound', message };
  }
  if (phase === 'Ready') return { type, status: 'True' };
  const message = `Mount is not reporting ready. See ${kind} "${ref.name ?? ''}" status for more details`;
  return { type, status: 'False', severity: 'Error', reason: 'MountObjectNotReady', message };
}

/** Without the version: all versions of a kind are the same objects. */
const mountKey = (cluster: string, group: string, kind: string, namespace: string, name: string): string =>
  `${cluster}|${group}|${kind}|${namespace}/${name}`;

function referenceKey(cluster: LogicalClusterName, ref: DeepReadonly<MountReference> | undefined): string | undefined {
  if (ref === undefined) return undefined;
  const { apiVersion = '', kind = '', namespace = '', name = '' } = ref;
  const slash = apiVersion.indexOf('/');
  return mountKey(cluster, slash < 0 ? '' : apiVersion.slice(0, slash), kind, namespace, name);
}
