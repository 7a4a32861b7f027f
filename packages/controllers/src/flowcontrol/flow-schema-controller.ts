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
import { updateStatus } from '../runtime/object-writes.ts';

const group = 'flowcontrol.apiserver.k8s.io';
const flowSchemas: GroupVersionResource = { group, version: 'v1', resource: 'flowschemas' };
const priorityLevels: GroupVersionResource = { group, version: 'v1', resource: 'prioritylevelconfigurations' };

type FlowSchema = KubeObject & {
  spec?: { priorityLevelConfiguration?: { name?: string } };
  status?: { conditions?: Condition[] };
};

/**
 * Sets the condition `Dangling` of FlowSchemas: whether the priority level they refer to does not exist (Kubernetes:
 * apiserver/pkg/util/flowcontrol/apf_controller.go).
 */
export function flowSchemaController(modules: ControllerModules): Controller {
  const { informers, client, clock } = modules;
  const schemas = informers.informer<FlowSchema>(flowSchemas);
  const levels = informers.informer(priorityLevels);
  const controller: Controller = new Controller({ name: 'flowschema', reconcile }, modules);
  schemas.addHandlers({
    added: (_object, reference) => controller.queue.add(keyOf(reference)),
    updated: (_object, _old, reference) => controller.queue.add(keyOf(reference)),
  });
  const enqueueOfLevel = (_level: unknown, { cluster, name }: { cluster: LogicalClusterName; name: string }): void => {
    for (const schema of schemas.list({ cluster })) {
      if (levelOf(schema) === name)
        controller.queue.add(keyOf({ cluster, namespace: '', name: schema.metadata.name ?? '' }));
    }
  };
  levels.addHandlers({ added: enqueueOfLevel, deleted: enqueueOfLevel });

  async function reconcile(key: string): Promise<void> {
    const reference = referenceOf(key);
    const schema = schemas.get(reference);
    if (schema === undefined) return;
    const level = levelOf(schema);
    const found = levels.get({ ...reference, name: level }) !== undefined;
    const text = `This FlowSchema references the PriorityLevelConfiguration object named "${level}"`;
    const conditions = setCondition(
      schema.status?.conditions,
      found
        ? { type: 'Dangling', status: 'False', reason: 'Found', message: `${text} and it exists` }
        : { type: 'Dangling', status: 'True', reason: 'NotFound', message: `${text} but there is no such object` },
      new Date(clock.now()),
    );
    await updateStatus(client, flowSchemas, reference.cluster, schema, { conditions } as unknown as JsonObject);
  }
  return controller;
}

const levelOf = (schema: DeepReadonly<FlowSchema>): string => schema.spec?.priorityLevelConfiguration?.name ?? '';
