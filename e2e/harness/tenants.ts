import type { RestTransport } from '@multiplane/client';
import { eventually } from '@multiplane/testing';
import type { ControlPlane } from './control-plane.ts';
import { Kubectl } from './kubectl.ts';
import { testTokens } from './local-cluster.ts';
import { createWorkspace, field } from './workspaces.ts';

/** Names of the token file of every test cluster. */
export type TestUser = keyof typeof testTokens;

/** A workspace with an administrator, and that one's kubectl. */
export interface Tenant extends AsyncDisposable {
  readonly path: string;
  /** Name of its logical cluster. */
  readonly cluster: string;
  readonly kubectl: Kubectl;
}

/** Creates a workspace below `root`, optionally on a given shard, that belongs to a user of the token file. */
export async function createTenant(
  control: ControlPlane,
  name: string,
  options: { readonly user: TestUser; readonly shard?: string | undefined },
): Promise<Tenant> {
  const admin = control.transport('base');
  try {
    const path = await createWorkspace(
      admin,
      'root',
      name,
      options.shard === undefined ? {} : { shard: options.shard },
    );
    await makeAdministrator(admin, path, options.user);
    const workspace = await admin.json({
      method: 'GET',
      path: `/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/${name}`,
    });
    const kubectl = await Kubectl.create({
      server: `${control.url}/clusters/${path}`,
      ca: control.ca,
      token: testTokens[options.user],
      namespace: 'default',
    });
    // What was granted a moment ago is known a moment later.
    await eventually(() => kubectl.ok(['get', 'namespace', 'default']), { timeout: 30_000 });
    return {
      path,
      cluster: field(workspace, 'spec', 'cluster') as string,
      kubectl,
      [Symbol.asyncDispose]: () => kubectl[Symbol.asyncDispose](),
    };
  } finally {
    admin.close();
  }
}

async function makeAdministrator(admin: RestTransport, path: string, user: TestUser): Promise<void> {
  const apiGroup = 'rbac.authorization.k8s.io';
  await admin.json({
    method: 'POST',
    path: `/clusters/${path}/apis/${apiGroup}/v1/clusterrolebindings`,
    body: JSON.stringify({
      apiVersion: `${apiGroup}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'e2e-admin' },
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ apiGroup, kind: 'User', name: user }],
    }),
  });
}
