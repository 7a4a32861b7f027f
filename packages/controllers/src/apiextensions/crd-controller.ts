import {
  isConditionTrue,
  setCondition,
  type DeepReadonly,
  type GroupVersionResource,
  type JsonObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { boundDefinitionsCluster } from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import { BoundNames } from '../apis/bound-names.ts';
import { deleteContent } from '../core/delete-content.ts';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { ignoring, mutable, updateStatus } from '../runtime/update-status.ts';
import { CrdNameIndex } from './crd-name-index.ts';
import { crds, nothingTaken, type CustomResourceDefinition, type TakenNames } from './crd-names.ts';
import { definitionStatus } from './definition-status.ts';

const finalizer = 'customresourcecleanup.apiextensions.k8s.io';
const recheckMs = 5_000;

interface CrdControllerOptions {
  /** Names that kinds compiled into the server use in a group. */
  readonly builtInNames: (group: string) => {
    readonly resources: ReadonlySet<string>;
    readonly kinds: ReadonlySet<string>;
  };
}

/**
 * The life of a CustomResourceDefinition (K5.3, K8.4): accepts its names, establishes it, and when it is deleted removes
 * its objects before it lets the definition go. A name that becomes free brings back who waits for it.
 */
export function crdController(options: CrdControllerOptions, modules: ControllerModules): Controller {
  const { informers, client, clock } = modules;
  const lister = informers.informer<CustomResourceDefinition>(crds);
  const controller: Controller = new Controller({ name: 'customresourcedefinition', reconcile }, modules);
  const names = new CrdNameIndex();
  /** Nobody is given a name before it is known who has it. */
  let areNamesKnown = false;
  const early = new Set<string>();
  /** Keys of definitions that wait for their objects to go. */
  const terminating = new Set<string>();
  const note = (crd: DeepReadonly<CustomResourceDefinition>, key: string): void => {
    if (crd.metadata.deletionTimestamp !== undefined) terminating.add(key);
    else terminating.delete(key);
  };
  const awaken = (cluster: LogicalClusterName, group: string): void => {
    for (const name of names.waiting(cluster, group)) controller.queue.add(keyOf({ cluster, namespace: '', name }));
  };
  lister.addHandlers({
    added: (crd, reference, wasThere) => {
      note(crd, keyOf(reference));
      if (areNamesShared(reference)) names.set(reference.cluster, crd);
      controller.queue.add(keyOf(reference), wasThere);
    },
    updated: (crd, old, reference) => {
      note(crd, keyOf(reference));
      controller.queue.add(keyOf(reference));
      if (!areNamesShared(reference)) return;
      names.delete(reference.cluster, old);
      names.set(reference.cluster, crd);
      awaken(reference.cluster, crd.spec.group);
    },
    deleted: (crd, reference) => {
      terminating.delete(keyOf(reference));
      if (!areNamesShared(reference)) return;
      names.delete(reference.cluster, crd);
      awaken(reference.cluster, crd.spec.group);
    },
    synced: () => {
      areNamesKnown = true;
      for (const key of early) controller.queue.add(key);
      early.clear();
    },
  });
  const bound = new BoundNames({ informers, freed: awaken });
  informers.metadata.addHandlers({
    changed: () => {},
    deleted: (record) => {
      if (terminating.size === 0) return;
      const { cluster, resource } = record;
      const key = keyOf({ cluster, namespace: '', name: `${resource.resource}.${resource.group}` });
      if (terminating.has(key)) controller.queue.add(key);
    },
  });

  async function reconcile(key: string): Promise<number | void> {
    const reference = referenceOf(key);
    const crd = lister.get(reference);
    if (crd === undefined) return;
    if (crd.metadata.deletionTimestamp !== undefined) return terminate(crd, reference.cluster);
    if (!areNamesKnown) {
      early.add(key);
      return;
    }
    const taken = areNamesShared(reference) ? namesTaken(crd, reference) : nothingTaken;
    const status = definitionStatus(crd, taken, new Date(clock.now()));
    await updateStatus(client, crds, reference.cluster, crd, status as unknown as JsonObject);
  }

  function namesTaken(crd: DeepReadonly<CustomResourceDefinition>, { cluster }: ObjectReference): TakenNames {
    const builtIn = options.builtInNames(crd.spec.group);
    const taken = [names.taken(cluster, crd), bound.taken(cluster, crd.spec.group)];
    return {
      resource: (name) => builtIn.resources.has(name) || taken.some((others) => others.resource(name)),
      kind: (name) => builtIn.kinds.has(name) || taken.some((others) => others.kind(name)),
    };
  }

  /** Objects first; the definition goes when the last of them is gone. */
  async function terminate(
    crd: DeepReadonly<CustomResourceDefinition>,
    cluster: LogicalClusterName,
  ): Promise<number | void> {
    if (!(crd.metadata.finalizers ?? []).includes(finalizer)) return;
    const now = new Date(clock.now());
    const old = crd.status?.conditions;
    if (isConditionTrue(old, 'Established') && !isConditionTrue(old, 'Terminating')) {
      const conditions = setCondition(
        old,
        {
          type: 'Terminating',
          status: 'True',
          reason: 'InstanceDeletionInProgress',
          message: 'CustomResource deletion is in progress',
        },
        now,
      );
      // The status comes back as an event, and with it this key.
      await updateStatus(client, crds, cluster, crd, { ...crd.status, conditions } as unknown as JsonObject);
      return;
    }
    const isOwn = (resource: GroupVersionResource): boolean =>
      resource.group === crd.spec.group && resource.resource === crd.spec.names.plural;
    // What a binding serves under this name is not the definition's, which was never served then.
    const hasObjects = !bound.has(cluster, { group: crd.spec.group, resource: crd.spec.names.plural });
    const remaining = await deleteContent(
      { cluster, namespace: undefined, skip: (resource) => !hasObjects || !isOwn(resource) },
      modules,
    );
    if (remaining.objects.size > 0 || remaining.failures.length > 0) {
      const failed = remaining.failures.length > 0;
      const conditions = setCondition(
        old,
        failed
          ? {
              type: 'Terminating',
              status: 'True',
              reason: 'InstanceDeletionFailed',
              message: `could not list or delete instances: ${remaining.failures.join(', ')}`,
            }
          : {
              type: 'Terminating',
              status: 'True',
              reason: 'InstanceDeletionCheck',
              message: 'could not confirm zero CustomResources remaining: timed out waiting for the condition',
            },
        now,
      );
      if (failed)
        await updateStatus(client, crds, cluster, crd, { ...crd.status, conditions } as unknown as JsonObject);
      return recheckMs;
    }
    const finalizers = (crd.metadata.finalizers ?? []).filter((name) => name !== finalizer);
    await ignoring(['NotFound'], () => client.update(crds, cluster, mutable(crd, { metadata: { finalizers } })));
  }
  return controller;
}

/**
 * Definitions of bound schemas share nothing but the place where they lie: which of them may be in one logical cluster
 * together is decided when they are bound (C5.11).
 */
const areNamesShared = ({ cluster }: ObjectReference): boolean => cluster !== boundDefinitionsCluster;
