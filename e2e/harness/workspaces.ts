import { isJsonObject, type Json } from '@multiplane/apimachinery';
import type { RestTransport } from '@multiplane/client';
import { eventually } from '@multiplane/testing';

const tenancy = 'apis/tenancy.kcp.io/v1alpha1/workspaces';
const rbac = 'apis/rbac.authorization.k8s.io/v1';

/** Creates a workspace, optionally on a given shard, and waits until it is ready; returns its path. */
export async function createWorkspace(
  transport: RestTransport,
  parent: string,
  name: string,
  options: { readonly shard?: string } = {},
): Promise<string> {
  const { shard } = options;
  await transport.json({
    method: 'POST',
    path: `/clusters/${parent}/${tenancy}`,
    body: JSON.stringify({
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'Workspace',
      metadata: { name },
      ...(shard === undefined ? {} : { spec: { location: { selector: { matchLabels: { name: shard } } } } }),
    }),
  });
  await eventually(
    async () => {
      const workspace = await transport.json({ method: 'GET', path: `/clusters/${parent}/${tenancy}/${name}` });
      const phase = field(workspace, 'status', 'phase');
      if (phase !== 'Ready') throw new Error(`the workspace is ${JSON.stringify(phase)}: ${JSON.stringify(workspace)}`);
    },
    { timeout: 20_000 },
  );
  const path = `${parent}:${name}`;
  // The index of a front-proxy learns of a new workspace later than its creator.
  await eventually(
    () =>
      transport.json({ method: 'GET', path: `/clusters/${path}/apis/core.kcp.io/v1alpha1/logicalclusters/cluster` }),
    { timeout: 20_000 },
  );
  return path;
}

/** Lets users into a workspace without any further right, as kcp's `system:kcp:workspace:access` does. */
export async function grantAccess(transport: RestTransport, path: string, users: readonly string[]): Promise<void> {
  const role = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'e2e-access' },
    rules: [{ nonResourceURLs: ['/'], verbs: ['access'] }],
  };
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'e2e-access' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'e2e-access' },
    subjects: users.map((name) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name })),
  };
  await transport.json({ method: 'POST', path: `/clusters/${path}/${rbac}/clusterroles`, body: JSON.stringify(role) });
  await transport.json({
    method: 'POST',
    path: `/clusters/${path}/${rbac}/clusterrolebindings`,
    body: JSON.stringify(binding),
  });
}

/** What stands below a chain of names; undefined where it ends. */
export function field(value: Json, ...names: string[]): Json | undefined {
  let current: Json | undefined = value;
  for (const name of names) current = isJsonObject(current) ? current[name] : undefined;
  return current;
}
