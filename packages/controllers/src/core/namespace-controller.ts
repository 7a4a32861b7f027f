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
import { ignoring, mutable, updateStatus } from '../runtime/update-status.ts';
import { deleteContent, type ContentModules, type RemainingContent } from './delete-content.ts';

const namespaces: GroupVersionResource = { group: '', version: 'v1', resource: 'namespaces' };
const finalizer = 'kubernetes';
/** While finalizers of content are pending, their owners' writes bring the namespace back; this is only the safety net. */
const recheckMs = 5_000;

type Namespace = KubeObject & {
  spec?: { finalizers?: string[] };
  status?: { phase?: string; conditions?: Condition[] };
};

/**
 * Empties namespaces that are being deleted (K8.2): every kind with objects in the namespace is deleted as a collection,
 * what is left is told in conditions, and when nothing is left the finalizer `kubernetes` goes and with it the namespace.
 */
export function namespaceController(modules: ControllerModules & ContentModules): Controller {
  const { informers, client, clock } = modules;
  const lister = informers.informer<Namespace>(namespaces);
  const controller: Controller = new Controller({ name: 'namespace', reconcile, workers: 16 }, modules);
  /** Keys of namespaces that are being deleted: nobody else is looked at when something goes. */
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
    // One of the same name may have taken the place of one that went while nobody listened.
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
    await ignoring(['NotFound'], () =>
      client.update(namespaces, cluster, mutable(current, { spec: finalizers.length === 0 ? {} : { finalizers } }), {
        subresource: 'finalize',
      }),
    );
  }
  return controller;
}

/** All five conditions are written as soon as there is something to tell (K8.2); False is the good answer. */
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
    (conditions, [type, trouble, badReason, goodReason, goodMessage]) =>
      setCondition(
        conditions,
        {
          type,
          status: trouble === undefined ? 'False' : 'True',
          reason: trouble === undefined ? goodReason : badReason,
          message: trouble ?? goodMessage,
        },
        now,
      ),
    old ?? [],
  );
}
