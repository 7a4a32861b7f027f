import type { GroupVersionResource, KubeObject } from '@multiplane/apimachinery';
import type { Controller, ControllerModules } from '../runtime/controller.ts';
import { ignoreReasons } from '../runtime/object-writes.ts';
import { perNamespaceController } from './per-namespace-controller.ts';

const serviceAccounts: GroupVersionResource = { group: '', version: 'v1', resource: 'serviceaccounts' };
const defaultName = 'default';

/** Keeps the ServiceAccount `default` in every namespace (Kubernetes: pkg/controller/serviceaccount). */
export function serviceAccountController(modules: ControllerModules): Controller {
  const { informers, client } = modules;
  const accounts = informers.informer(serviceAccounts);
  return perNamespaceController(
    {
      name: 'serviceaccount',
      resource: serviceAccounts,
      objectName: defaultName,
      reconcile: async (cluster, namespace) => {
        if (accounts.get({ cluster, namespace, name: defaultName }) !== undefined) return;
        const account: KubeObject = {
          apiVersion: 'v1',
          kind: 'ServiceAccount',
          metadata: { name: defaultName, namespace },
        };
        await ignoreReasons(['AlreadyExists', 'NotFound', 'Forbidden'], () =>
          client.create(serviceAccounts, cluster, account, { discardResult: true }),
        );
      },
    },
    modules,
  );
}
