import type { UserInfo } from '@multiplane/apimachinery';
import {
  authorizationAttributesOf,
  buildChain,
  resolveRequestInfo,
  withImpersonation,
  writeNotFoundText,
  type AuthorizationAttributes,
  type AuthorizationResult,
  type Authorizer,
  type ChainModules,
  type EdgeExchange,
  type Exchange,
  type Handler,
  type HandlerChainOptions,
  type RequestContext,
  type RequestInfo,
  type RequestPath,
} from '@multiplane/apiserver';
import type { HealthChecks } from '@multiplane/component-base';
import { virtualImpersonationPolicy } from './impersonation-policy.ts';
import { servicesPrefix } from './service-path.ts';
import type { VirtualAttributes, VirtualTarget, VirtualWorkspace } from './virtual-workspace.ts';

export interface VirtualWorkspaceServerOptions extends HandlerChainOptions {
  /** `--authorization-always-allow-paths`; they hold outside of virtual workspaces. */
  readonly alwaysAllowPaths: readonly string[];
  /** Version of this server, as it tells old plug-ins. */
  readonly version: string;
}

export interface VirtualWorkspaceServerModules extends Omit<
  ChainModules,
  'resolvePath' | 'classify' | 'authorizer' | 'attributesOf' | 'impersonation'
> {
  readonly workspaces: readonly VirtualWorkspace[];
  readonly health: HealthChecks;
  /** Decides about rights in logical clusters (`impersonate`). */
  readonly delegatedAuthorizer: (exchange: Exchange) => Authorizer;
  /** Whether somebody may read the metrics; absent: only members of system:masters. */
  readonly metricsAccess?: ((exchange: Exchange, user: UserInfo) => Promise<AuthorizationResult>) | undefined;
  /** What is served outside of virtual workspaces; absent: nothing. */
  readonly outer?: Handler | undefined;
}

type VirtualInfo = RequestInfo & { virtual?: VirtualTarget };

const unresolved: AuthorizationResult = {
  decision: 'noOpinion',
  reason: 'Path not resolved to a valid virtual workspace',
};
const metricsPath = '/metrics';
const oldPlugin = 'Go-http-client/2.0';

/**
 * The root of all virtual workspaces (C8.1). A request is first given to the virtual workspace whose path it has; then
 * it goes down the same chain as any request of a shard, only that it is the virtual workspace that authorizes and
 * answers it. Paths that belong to nobody are refused by authorization, so that only those who may do everything learn
 * that there is nothing.
 */
export class VirtualWorkspaceServer {
  readonly #workspaces: readonly VirtualWorkspace[];
  readonly #options: VirtualWorkspaceServerOptions;
  readonly #metricsAccess: VirtualWorkspaceServerModules['metricsAccess'];
  readonly #chain: (exchange: EdgeExchange) => Promise<void>;

  /** Throws for two virtual workspaces of one name. */
  constructor(options: VirtualWorkspaceServerOptions, modules: VirtualWorkspaceServerModules) {
    const { workspaces, health, outer } = modules;
    const names = new Set<string>();
    for (const { name } of workspaces) {
      if (names.has(name)) throw new Error(`duplicate virtual workspace "${name}"`);
      names.add(name);
    }
    for (const workspace of workspaces)
      health.add(workspace.name, () => workspace.check?.(), { endpoints: ['readyz'] });
    this.#options = options;
    this.#workspaces = workspaces;
    this.#metricsAccess = modules.metricsAccess;
    this.#chain = buildChain(
      options,
      {
        ...modules,
        resolvePath: () => Promise.resolve(undefined),
        classify: (method, target) => this.#classify(method, target),
        authorizer: { authorize: (attributes) => this.#authorize(attributes) },
        attributesOf: (context) => this.#attributesOf(context),
        impersonation: (next) => (context) =>
          withImpersonation({
            authorizer: modules.delegatedAuthorizer(context.exchange),
            policy: virtualImpersonationPolicy,
          })(next)(context),
      },
      (context) => this.#serve(context, outer),
    );
  }

  /** Answers every exchange and never rejects. */
  readonly handle = async (exchange: EdgeExchange): Promise<void> => {
    if (exchange.url !== '/services') return this.#chain(exchange);
    exchange.setHeader('location', servicesPrefix);
    exchange.setHeader('content-type', 'text/html; charset=utf-8');
    exchange.respond(307, `<a href="${servicesPrefix}">Temporary Redirect</a>.\n\n`);
  };

  #classify(method: string, target: RequestPath): RequestInfo {
    for (const workspace of this.#workspaces) {
      const path = workspace.resolve(target);
      if (path === undefined) continue;
      const { key, cluster, below } = path;
      const info = resolveRequestInfo(method, below, cluster);
      if (workspace.accepts?.(info) === false) continue;
      return Object.assign(info, { virtual: { workspace, key, cluster } });
    }
    return resolveRequestInfo(method, target, undefined);
  }

  #attributesOf(context: RequestContext): AuthorizationAttributes | VirtualAttributes {
    const attributes = authorizationAttributesOf(context);
    const { virtual } = context.info as VirtualInfo;
    const { exchange } = context;
    if (virtual === undefined) return Object.assign(attributes, { exchange });
    if (virtual.workspace.authorizesByPath !== true) return { ...attributes, virtual, exchange };
    return {
      ...attributes,
      ...noResource,
      path: `/clusters/${virtual.cluster}${attributes.path}`,
      verb: exchange.method.toLowerCase(),
      virtual,
      exchange,
    };
  }

  async #authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    if ('virtual' in attributes) {
      const asked = attributes as VirtualAttributes;
      return asked.virtual.workspace.authorize(asked);
    }
    if (!attributes.isResourceRequest && this.#options.alwaysAllowPaths.includes(attributes.path))
      return { decision: 'allow', reason: '' };
    if (attributes.path === metricsPath && attributes.verb === 'get' && this.#metricsAccess !== undefined)
      return this.#metricsAccess((attributes as VirtualAttributes).exchange, attributes.user);
    return unresolved;
  }

  #serve(context: RequestContext, outer: Handler | undefined): Promise<void> {
    const { exchange, info } = context;
    if (String(exchange.headers['user-agent'] ?? '').startsWith(oldPlugin))
      context.warn(
        `You are using an old kubectl-kcp plugin. Please update to a version matching the kcp server version "${this.#options.version}".`,
      );
    const { virtual } = info as VirtualInfo;
    if (virtual !== undefined) return virtual.workspace.handle({ ...virtual, context });
    if (outer !== undefined && !info.isResourceRequest && !info.path.startsWith(servicesPrefix)) return outer(context);
    writeNotFoundText(exchange);
    return Promise.resolve();
  }
}

const noResource = {
  isResourceRequest: false,
  group: '',
  version: '',
  namespace: '',
  resource: '',
  subresource: '',
  name: '',
  fieldSelector: undefined,
  labelSelector: undefined,
};
