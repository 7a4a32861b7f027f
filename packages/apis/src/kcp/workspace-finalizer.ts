import { asJson, type DeepReadonly, type GroupResource, type KubeObject } from '@multiplane/apimachinery';
import { at } from '../fields.ts';
import type { Strategy } from '../resource-definition.ts';

/** Holds a Workspace as long as it may have a logical cluster. */
export const workspaceFinalizer = 'core.kcp.io/logicalcluster';

/**
 * What holds objects of a kind from the moment they are deleted. A Workspace says that it has a logical cluster with the
 * write that follows the making of it: one that is deleted sooner would leave that behind. A mount never has one.
 */
export function finalizersOfDeletion({ group, resource }: GroupResource): Strategy['finalizersOfDeletion'] {
  return group === 'tenancy.kcp.io' && resource === 'workspaces' ? ofWorkspace : undefined;
}

function ofWorkspace(workspace: DeepReadonly<KubeObject>): readonly string[] {
  const isHeld = (workspace.metadata.finalizers ?? []).includes(workspaceFinalizer);
  return isHeld || at(asJson(workspace as KubeObject), 'spec', 'mount') !== undefined ? [] : [workspaceFinalizer];
}
