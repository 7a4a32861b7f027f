import type { GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { ObjectClient } from '@multiplane/client';
import { secrets } from '../apis/api-export-identity.ts';
import { ignoreReasons } from '../runtime/object-writes.ts';

const namespaces: GroupVersionResource = { group: '', version: 'v1', resource: 'namespaces' };
const keyBytes = 32;

/** Namespace of identity secrets that controllers create. */
export const identityNamespace = 'kcp-system';

/** Creates the secret `kcp-system/<name>` with a random key, and its namespace, unless they exist. */
export async function createIdentitySecret(
  options: { readonly name: string; readonly randomBytes: (size: number) => Buffer },
  modules: { readonly client: ObjectClient; readonly cluster: LogicalClusterName },
): Promise<void> {
  const { client, cluster } = modules;
  const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: identityNamespace } };
  const secret: KubeObject = {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: { name: options.name, namespace: identityNamespace },
    stringData: { key: options.randomBytes(keyBytes).toString('hex') },
  };
  await ignoreReasons(['AlreadyExists'], () => client.create(namespaces, cluster, namespace));
  await ignoreReasons(['AlreadyExists'], () => client.create(secrets, cluster, secret));
}
