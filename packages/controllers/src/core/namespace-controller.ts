import {
  setCondition,
  type Condition,
  type DeepReadonly,
  type GroupVersionResource,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { ignoreReasons, withChanges, updateStatus } from '../runtime/object-writes.ts';
import { deleteContent, type ContentModules, type RemainingContent } from './delete-content.ts';

const namespaces: GroupVersionResource = { group: '', version: 'v1', resource: 'namespaces' };
const finalizer = 'kubernetes';
/** A fallback: deletions of content requeue the namespace by events. */
const recheckMs = 5_000;

type Namespace = KubeObject & {
  spec?: { finalizers?: string[] };
  status?: { phase?: string; conditions?: Condition[] };
};

/**
 * Deletes the content of namespaces that are being deleted (Kubernetes: pkg/controller/namespace): every resource with
 * objects there by deletecollection. Conditions report what remains; when nothing does, the finalizer `kubernetes` is
 * removed.
 */
export function namespaceController(modules: ControllerModules & ContentModules): Controller {
  const { informers, client, clock } = modules;
  const lister = informers.informer<Namespace>(namespaces);
  const controller: Controller = new Controller({ name: 'namespace', reconcile, workers: 16 }, modules);
  /** Keys of namespaces that are being deleted; deletions elsewhere are ignored. */
  const terminating = new Set<string>();
  lister.addHandlers({
    added: (object, reference) => enqueue(object, reference),
    updated: (object, _old, reference) => enqueue(object, reference),
    deleted: (_old, reference) => void terminating.delete(keyOf(reference)),
  });
  informers.metadata.addHandlers({
    changed: () => {},
    deleted: ({ cluster, namespace }) => {
      if (namespace === '' || terminating.size === 0) return;
      const key = keyOf({ cluster, namespace: '', name: namespace });
      if (terminating.has(key)) controller.queue.add(key);
    },
  });

  function enqueue(
    object: DeepReadonly<Namespace>,
    reference: { cluster: LogicalClusterName; namespace: string; name: string },
  ): void {
    const key = keyOf(reference);
    // A new namespace may have replaced a deleted one of the same name in one update.
    if (object.metadata.deletionTimestamp === undefined) terminating.delete(key);
    else {
      terminating.add(key);
      controller.queue.add(key);
    }
  }

  async function reconcile(key: string): Promise<number | void> {
    const reference = referenceOf(key);
    const namespace = lister.get(reference);
    if (namespace?.metadata.deletionTimestamp === undefined || !(namespace.spec?.finalizers ?? []).includes(finalizer))
      return;
    const { cluster, name } = reference;
    const remaining = await deleteContent({ cluster, namespace: name }, modules);
    if (remaining.objects.size > 0 || remaining.failures.length > 0) {
      const conditions = conditionsOf(namespace.status?.conditions, remaining, new Date(clock.now()));
      await updateStatus(client, namespaces, cluster, namespace, {
        ...namespace.status,
        conditions,
      } as unknown as JsonObject);
      return recheckMs;
    }
    const current = await client.get(namespaces, reference);
    const finalizers = ((current as Namespace).spec?.finalizers ?? []).filter((entry) => entry !== finalizer);
    await ignoreReasons(['NotFound'], () =>
      client.update(
        namespaces,
        cluster,
        withChanges(current, { spec: finalizers.length === 0 ? {} : { finalizers } }),
        {
          subresource: 'finalize',
        },
      ),
    );
  }
  return controller;
}

/** All five conditions, as Kubernetes writes them while content remains; False is the good state. */
function conditionsOf(
  old: readonly Condition[] | undefined,
  remaining: RemainingContent,
  now: Date,
): readonly Condition[] {
  const { objects, finalizers, failures } = remaining;
  const content = [...objects].map(([resource, count]) => `${resource} has ${count} resource instances`).sort();
  const pending = [...finalizers].map(([name, count]) => `${name} in ${count} resource instances`).sort();
  const rows: [string, string | undefined, string, string, string][] = [
    [
      'NamespaceDeletionDiscoveryFailure',
      undefined,
      '',
      'ResourcesDiscovered',
      'All resources successfully discovered',
    ],
    [
      'NamespaceDeletionGroupVersionParsingFailure',
      undefined,
      '',
      'ParsedGroupVersions',
      'All legacy kube types successfully parsed',
    ],
    [
      'NamespaceDeletionContentFailure',
      failures.length === 0
        ? undefined
        : `Failed to delete all resource types, ${failures.length} remaining: ${failures.join(', ')}`,
      'ContentDeletionFailed',
      'ContentDeleted',
      'All content successfully deleted, may be waiting on finalization',
    ],
    [
      'NamespaceContentRemaining',
      content.length === 0 ? undefined : `Some resources are remaining: ${content.join(', ')}`,
      'SomeResourcesRemain',
      'ContentRemoved',
      'All content successfully removed',
    ],
    [
      'NamespaceFinalizersRemaining',
      pending.length === 0
        ? undefined
        : `Some content in the namespace has finalizers remaining: ${pending.join(', ')}`,
      'SomeFinalizersRemain',
      'ContentHasNoFinalizers',
      'All content-preserving finalizers finished',
    ],
  ];
  return rows.reduce<readonly Condition[]>(
    (conditions, [type, problem, badReason, goodReason, goodMessage]) =>
      setCondition(
        conditions,
        {
          type,
          status: problem === undefined ? 'False' : 'True',
          reason: problem === undefined ? goodReason : badReason,
          message: problem ?? goodMessage,
        },
        now,
      ),
    old ?? [],
  );
}
