import type { DeepReadonly, GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { ignoreReasons, withChanges } from '../runtime/object-writes.ts';

const secrets: GroupVersionResource = { group: '', version: 'v1', resource: 'secrets' };
const serviceAccounts: GroupVersionResource = { group: '', version: 'v1', resource: 'serviceaccounts' };
const tokenType = 'kubernetes.io/service-account-token';
const nameAnnotation = 'kubernetes.io/service-account.name';
const uidAnnotation = 'kubernetes.io/service-account.uid';

type Secret = KubeObject & { type?: string; data?: Record<string, string> };

/** Issues the token of a Secret. */
export interface LegacyTokenIssuer {
  issueLegacy(request: {
    readonly cluster: LogicalClusterName;
    readonly namespace: string;
    readonly secretName: string;
    readonly serviceAccount: { readonly name: string; readonly uid: string };
  }): Promise<string>;
}

/**
 * Fills Secrets of type `kubernetes.io/service-account-token` with a token, and deletes those whose ServiceAccount was
 * deleted or replaced (Kubernetes: pkg/controller/serviceaccount/tokens_controller.go).
 */
export function serviceAccountTokenController(
  options: { readonly rootCa: () => string },
  modules: ControllerModules & { readonly issuer: LegacyTokenIssuer },
): Controller {
  const { informers, client, issuer } = modules;
  const secretInformer = informers.informer<Secret>(secrets);
  const accounts = informers.informer(serviceAccounts);
  const controller: Controller = new Controller({ name: 'serviceaccount-token', reconcile }, modules);
  const enqueue = (
    secret: DeepReadonly<Secret>,
    reference: { cluster: LogicalClusterName; namespace: string; name: string },
  ): void => {
    if (secret.type === tokenType) controller.queue.add(keyOf(reference));
  };
  secretInformer.addHandlers({ added: enqueue, updated: (secret, _old, reference) => enqueue(secret, reference) });
  const enqueueOfAccount = (
    _account: unknown,
    { cluster, namespace, name }: { cluster: LogicalClusterName; namespace: string; name: string },
  ): void => {
    for (const secret of secretInformer.list({ cluster, namespace })) {
      if (secret.metadata.annotations?.[nameAnnotation] === name)
        enqueue(secret, { cluster, namespace, name: secret.metadata.name ?? '' });
    }
  };
  accounts.addHandlers({ added: enqueueOfAccount, deleted: enqueueOfAccount });

  async function reconcile(key: string): Promise<void> {
    const reference = referenceOf(key);
    const secret = secretInformer.get(reference);
    if (secret === undefined || secret.type !== tokenType || secret.metadata.deletionTimestamp !== undefined) return;
    const { cluster, namespace, name } = reference;
    const accountName = secret.metadata.annotations?.[nameAnnotation] ?? '';
    const account = accountName === '' ? undefined : accounts.get({ cluster, namespace, name: accountName });
    const uid = secret.metadata.annotations?.[uidAnnotation];
    if (account === undefined || (uid !== undefined && uid !== account.metadata.uid)) {
      await ignoreReasons(['NotFound', 'Conflict'], () =>
        client.delete(secrets, reference, { preconditions: { uid: secret.metadata.uid } }),
      );
      return;
    }
    const data = secret.data ?? {};
    if (
      uid !== undefined &&
      data['token'] !== undefined &&
      data['ca.crt'] !== undefined &&
      data['namespace'] !== undefined
    )
      return;
    const accountUid = account.metadata.uid ?? '';
    const token = await issuer.issueLegacy({
      cluster,
      namespace,
      secretName: name,
      serviceAccount: { name: accountName, uid: accountUid },
    });
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    await client.update(
      secrets,
      cluster,
      withChanges(secret, {
        metadata: { annotations: { ...secret.metadata.annotations, [uidAnnotation]: accountUid } },
        data: {
          ...data,
          token: data['token'] ?? base64(token),
          'ca.crt': base64(options.rootCa()),
          namespace: base64(namespace),
        },
      }),
    );
  }
  return controller;
}
