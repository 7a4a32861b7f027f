import { isStatusError, type GroupVersionResource, type KubeObject } from '@multiplane/apimachinery';
import type { ClientConfig } from '@multiplane/client';
import { failureText } from '../../kubectl/failure-text.ts';
import type { CommandModules } from '../../kubectl-ws/commands.ts';
import { parseWorkspaceUrl } from '../../kubectl-ws/workspace-url.ts';
import { version } from '../../version.ts';
import { apiBindings, type Binding } from '../permission-claims.ts';
import { checkBindings, checkExports, type ConditionedObject } from './check-apis.ts';
import { checkCertificates } from './check-certificates.ts';
import { ok, problem, warning, type Finding } from './finding.ts';

type Modules = Pick<CommandModules, 'client' | 'url'> & { readonly config: ClientConfig; readonly now: () => number };

const apis = (apiVersion: string, resource: string): GroupVersionResource => ({
  group: 'apis.kcp.io',
  version: apiVersion,
  resource,
});
const notReached = 'check that the server runs, and the host and port of the kubeconfig (kubectl config view --minify)';

/** `kubectl kcp doctor`: checks in the order in which they depend on each other, and ends where the rest cannot succeed. */
export async function* doctor(modules: Modules): AsyncGenerator<Finding> {
  const { client, config, url } = modules;
  let path: string;
  try {
    ({ path } = parseWorkspaceUrl(url));
    yield ok('kubeconfig', `server ${client.origin}, workspace ${path}`);
  } catch (error) {
    yield problem(
      'kubeconfig',
      failureText(error),
      'add /clusters/root to the server URL, or run kubectl ws :root with another context',
    );
    return;
  }
  yield* await checkCertificates(config, modules);
  const server = await attempt('server', () => client.serverVersion(), notReached);
  if ('finding' in server) {
    yield server.finding;
    return;
  }
  yield versionFinding(server.value);
  const access = await attempt('workspace', () => client.canAccess(path), notReached);
  if ('finding' in access) {
    yield access.finding;
    return;
  }
  if (!access.value) {
    yield problem(
      'workspace',
      `${path} does not exist, or the user has no access to it`,
      'check its name with kubectl ws list in the parent, or ask its administrators for a ClusterRoleBinding to system:kcp:workspace:access',
    );
    return;
  }
  const user = await attempt('credentials', () => client.user(path), notReached);
  if ('finding' in user) yield user.finding;
  else yield ok('credentials', `user ${JSON.stringify(user.value.name)}, groups ${user.value.groups.join(', ')}`);
  yield await workspaceFinding(path, modules);
  yield* await apiFindings(path, modules);
}

function versionFinding(server: string): Finding {
  const [, build] = /\+multiplane-(.+)$/.exec(server) ?? [];
  if (build === undefined)
    return warning(
      'versions',
      `plugin ${version}, server ${server}, which is not Multiplane`,
      'use the plugins of that server',
    );
  return build === version
    ? ok('versions', `plugin ${version}, server ${server}`)
    : warning('versions', `plugin ${version}, server ${server}`, `install the plugins of version ${build}`);
}

async function workspaceFinding(path: string, { client }: Modules): Promise<Finding> {
  const phase = await attempt('workspace', () => client.clusterPhase(path), notReached);
  if ('finding' in phase) return phase.finding;
  if (phase.value === undefined) return ok('workspace', `${path} is accessible`);
  return phase.value === 'Ready'
    ? ok('workspace', `${path} is Ready`)
    : problem(
        'workspace',
        `${path} is in phase ${phase.value}`,
        'see the conditions of kubectl get logicalcluster cluster -o yaml; an initializer or a mount may not have finished',
      );
}

/** Bindings, exports and slices, as far as the user may list them. */
async function apiFindings(workspace: string, { client }: Modules): Promise<Finding[]> {
  const list = <T extends KubeObject>(resource: GroupVersionResource) =>
    attempt(
      resource.resource,
      () => client.objects.list<T>(resource, workspace),
      `ask the administrators of the workspace for the verb list on ${resource.resource}.${resource.group}`,
    );
  const [bindings, exports, slices] = await Promise.all([
    list<Binding>(apiBindings),
    list<ConditionedObject>(apis('v1alpha2', 'apiexports')),
    list<ConditionedObject>(apis('v1alpha1', 'apiexportendpointslices')),
  ]);
  const findings = 'finding' in bindings ? [bindings.finding] : checkBindings(bindings.value);
  if ('finding' in exports) return [...findings, exports.finding];
  if ('finding' in slices) return [...findings, slices.finding];
  return [...findings, ...checkExports(workspace, exports.value, slices.value)];
}

const signIn = 'sign in again or get a new kubeconfig: the token or certificate expired, or is of another server';

/** The value, or the finding that it cannot be read. A user who may not read it gets a warning. */
async function attempt<T>(
  check: string,
  action: () => Promise<T>,
  remedy: string,
): Promise<{ readonly value: T } | { readonly finding: Finding }> {
  try {
    return { value: await action() };
  } catch (error) {
    if (isStatusError(error) && error.code === 401)
      return { finding: problem('credentials', failureText(error), signIn) };
    const isForbidden = isStatusError(error) && error.code === 403;
    return { finding: (isForbidden ? warning : problem)(check, failureText(error), remedy) };
  }
}
