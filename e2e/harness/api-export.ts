import { eventually } from '@multiplane/testing';
import type { Kubectl } from './kubectl.ts';

const patient = { timeout: 60_000 };

interface Slice {
  readonly status?: { readonly endpoints?: readonly { readonly url: string }[] };
}

/** Everybody who is logged in may bind an export of the workspace that a kubectl works in. */
export async function letEverybodyBind(kubectl: Kubectl, name: string): Promise<void> {
  const apiGroup = 'rbac.authorization.k8s.io';
  await kubectl.apply(
    {
      apiVersion: `${apiGroup}/v1`,
      kind: 'ClusterRole',
      metadata: { name: `bind-${name}` },
      rules: [{ apiGroups: ['apis.kcp.io'], resources: ['apiexports'], resourceNames: [name], verbs: ['bind'] }],
    },
    {
      apiVersion: `${apiGroup}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: `bind-${name}` },
      roleRef: { apiGroup, kind: 'ClusterRole', name: `bind-${name}` },
      subjects: [{ apiGroup, kind: 'Group', name: 'system:authenticated' }],
    },
  );
}

/** The identity hash of an export, once it has one. */
export async function identityOf(kubectl: Kubectl, name: string): Promise<string> {
  await kubectl.ok(['wait', 'apiexport', name, '--for=condition=IdentityValid', '--timeout=30s']);
  return kubectl.ok(['get', 'apiexport', name, '-o', 'jsonpath={.status.identityHash}']);
}

/** Binds by the plugin; what was exported a moment ago on another shard is known a moment later. */
export function bind(kubectl: Kubectl, reference: string, ...flags: readonly string[]): Promise<string> {
  return eventually(() => kubectl.ok(['kcp', 'bind', 'apiexport', reference, ...flags]), patient);
}

/** Addresses of an export's consumers, once there are as many as expected. */
export function endpointsOf(kubectl: Kubectl, name: string, count: number): Promise<readonly string[]> {
  return eventually(async () => {
    const { status } = await kubectl.json<Slice>(['get', 'apiexportendpointslice', name]);
    const urls = (status?.endpoints ?? []).map(({ url }) => url);
    if (urls.length !== count) throw new Error(`there are ${urls.length} endpoints: ${urls.join(', ')}`);
    return urls;
  }, patient);
}

/** An object found through an endpoint. */
export interface Found {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly status?: Readonly<Record<string, unknown>>;
}

/** Everything of a resource that a provider finds behind its endpoints, over all consumers. */
export async function foundBehind(
  kubectl: Kubectl,
  endpoints: readonly string[],
  resource: string,
): Promise<readonly Found[]> {
  const lists = await Promise.all(
    endpoints.map((url) =>
      kubectl.json<{ readonly items: readonly Found[] }>([
        'get',
        '--server',
        `${url}/clusters/*`,
        resource,
        '--all-namespaces',
      ]),
    ),
  );
  return lists.flatMap(({ items }) => items);
}

/** `<logical cluster>/<name>`, sorted. */
export const placesOf = (objects: readonly Found[]): string[] =>
  objects.map(({ metadata }) => `${metadata.annotations?.['kcp.io/cluster']}/${metadata.name}`).sort();
