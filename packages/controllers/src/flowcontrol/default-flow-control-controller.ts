import {
  deepEqual,
  type DeepReadonly,
  type GroupVersionResource,
  type Json,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { bootstrapFlowSchemas, bootstrapPriorityLevels } from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { ignoreReasons, withChanges } from '../runtime/object-writes.ts';

const group = 'flowcontrol.apiserver.k8s.io';
/** The objects of this logical cluster are in force for the whole shard. */
const configured = 'system:admin' as LogicalClusterName;
/** Without these requests would be refused: their specs cannot be changed for long. */
const mandatory = new Set(['exempt', 'catch-all']);

/**
 * Creates Kubernetes' default FlowSchemas and PriorityLevelConfigurations again when they are deleted, and restores the mandatory
 * ones when they are changed (Kubernetes: pkg/registry/flowcontrol/ensurer, once a minute). The defaults are created by the
 * bootstrap, so that requests of the start find them.
 */
export function defaultFlowControlController(modules: ControllerModules): Controller {
  const { informers, client } = modules;
  const kinds = new Map<
    string,
    { readonly resource: GroupVersionResource; readonly objects: Map<string, KubeObject> }
  >();
  const add = (resource: string, objects: readonly KubeObject[]): void => {
    const named = objects.map((object) => [object.metadata.name ?? '', object] as const);
    kinds.set(resource, { resource: { group, version: 'v1', resource }, objects: new Map(named) });
  };
  add('prioritylevelconfigurations', bootstrapPriorityLevels());
  add('flowschemas', bootstrapFlowSchemas());
  const controller: Controller = new Controller({ name: 'default-flow-control', reconcile }, modules);
  for (const [name, { resource, objects }] of kinds) {
    const enqueue = (reference: Pick<ObjectReference, 'cluster' | 'name'>): void => {
      if (reference.cluster === configured && objects.has(reference.name))
        controller.queue.add(`${name}/${reference.name}`);
    };
    informers.informer(resource).addHandlers({
      updated: (_object, _old, reference) => enqueue(reference),
      deleted: (_object, reference) => enqueue(reference),
    });
  }

  async function reconcile(key: string): Promise<void> {
    const [kind = '', name = ''] = key.split('/');
    const { resource, objects } = kinds.get(kind) ?? {};
    const wanted = objects?.get(name);
    if (resource === undefined || wanted === undefined) return;
    const current: DeepReadonly<KubeObject> | undefined = informers
      .informer(resource)
      .get({ cluster: configured, namespace: '', name });
    if (current === undefined) {
      await ignoreReasons(['AlreadyExists'], () =>
        client.create(resource, configured, wanted, { discardResult: true }),
      );
    } else if (mandatory.has(name) && !deepEqual(current['spec'] as Json, wanted['spec'] as Json)) {
      await client.update(resource, configured, withChanges(current, { spec: wanted['spec'] }));
    }
  }
  return controller;
}
