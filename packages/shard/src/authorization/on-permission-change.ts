import type { LogicalClusterName } from '@multiplane/apimachinery';
import type { InformerSource } from '@multiplane/client';
import { rbacGroup } from '@multiplane/generic-server';

const kinds = ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'];

/** Calls back with the logical cluster of every role and binding that is created, changed or deleted. */
export function onPermissionChange(informers: InformerSource, changed: (cluster: LogicalClusterName) => void): void {
  type Reference = { readonly cluster: LogicalClusterName };
  const report = (_object: unknown, { cluster }: Reference): void => changed(cluster);
  for (const resource of kinds) {
    informers.informer({ group: rbacGroup, version: 'v1', resource }).addHandlers({
      added: report,
      updated: (_object, _old, { cluster }) => changed(cluster),
      deleted: report,
      onlyInvalidates: true,
    });
  }
}
