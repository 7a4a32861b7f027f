import type {
  DeepReadonly,
  GroupVersionResource,
  JsonObject,
  KubeObject,
  LogicalClusterName,
} from '@multiplane/apimachinery';
import { policyTypeWarnings, type ResourceDefinition } from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import { yieldToEventLoop } from '@multiplane/component-base';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { updateStatus } from '../runtime/object-writes.ts';

const policies: GroupVersionResource = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'validatingadmissionpolicies',
};

/**
 * Type-checks the expressions of each ValidatingAdmissionPolicy against the kinds it matches and writes the warnings to
 * its status, once per generation (Kubernetes: pkg/controller/validatingadmissionpolicystatus). Kinds that are served later
 * are checked at the next change of the policy.
 */
export function validatingPolicyStatusController(
  modules: ControllerModules & {
    /** The resources served in a logical cluster. */
    readonly served: (cluster: LogicalClusterName) => readonly ResourceDefinition[];
  },
): Controller {
  const { informers, client, served } = modules;
  const informer = informers.informer(policies);
  const controller: Controller = new Controller(
    { name: 'validatingadmissionpolicy-status', workers: 1, reconcile },
    modules,
  );
  const enqueue = (object: DeepReadonly<KubeObject>, reference: ObjectReference): void => {
    if (isOutdated(object)) controller.queue.add(keyOf(reference));
  };
  informer.addHandlers({ added: enqueue, updated: (object, _old, reference) => enqueue(object, reference) });

  async function reconcile(key: string): Promise<void> {
    const reference = referenceOf(key);
    const policy = informer.get(reference);
    if (policy === undefined || !isOutdated(policy)) return;
    const expressionWarnings = await policyTypeWarnings(policy, served(reference.cluster), yieldToEventLoop);
    const status: JsonObject = {
      ...(policy['status'] as JsonObject | undefined),
      observedGeneration: policy.metadata.generation ?? 0,
      typeChecking:
        expressionWarnings.length === 0
          ? {}
          : { expressionWarnings: expressionWarnings.map((warning) => ({ ...warning })) },
    };
    await updateStatus(client, policies, reference.cluster, policy, status);
  }
  return controller;
}

function isOutdated({ metadata, ...rest }: DeepReadonly<KubeObject>): boolean {
  const status = rest['status'] as { readonly observedGeneration?: number } | undefined;
  return (metadata.generation ?? 0) > (status?.observedGeneration ?? 0);
}
