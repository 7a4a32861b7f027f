import type { UserInfo } from '@multiplane/apimachinery';
import type { HealthChecks } from '@multiplane/component-base';
import {
  type AuthorizationAttributes,
  authorizationAttributesOf,
  type AuthorizationResult,
  type Authorizer,
  buildChain,
  type ChainModules,
  type ServerExchange,
  type Exchange,
  type Handler,
  type HandlerChainOptions,
  type RequestContext,
  type RequestInfo,
  type RequestPath,
  resolveRequestInfo,
  withImpersonation,
  withShardLevelPaths,
  writeNotFoundText,
} from '@multiplane/generic-server';
import { virtualImpersonationPolicy } from './impersonation-policy.ts';
import { servicesPrefix } from './service-path.ts';
import type { VirtualAttributes, VirtualTarget, VirtualWorkspace } from './virtual-workspace.ts';

export interface VirtualWorkspaceServerOptions extends HandlerChainOptions {
  /**
   * `--authorization-always-allow-paths`, also within virtual workspaces, where they lead nowhere; not in those that authorize
   * by path: these judge the path from the logical cluster on.
   */
  readonly alwaysAllowPaths: readonly string[];
  /** Version of this server, for the warning to outdated kubectl plugins. */
  readonly version: string;
}

export interface VirtualWorkspaceServerModules extends Omit<
  ChainModules,
  'resolvePath' | 'authorizesShardLevelPaths' | 'classify' | 'authorizer' | 'attributesOf' | 'impersonation'
> {
  readonly workspaces: readonly VirtualWorkspace[];
  readonly health: HealthChecks;
  /** Authorizes the `impersonate` verb in logical clusters. */
  readonly delegatedAuthorizer: (exchange: Exchange) => Authorizer;
  /** Authorizes access to the metrics; absent: only members of system:masters. */
  readonly metricsAccess?: ((exchange: Exchange, user: UserInfo) => Promise<AuthorizationResult>) | undefined;
  /** Serves paths outside of virtual workspaces; absent: none. */
  readonly outer?: Handler | undefined;
}

type VirtualInfo = RequestInfo & { virtual?: VirtualTarget };

const unresolved: AuthorizationResult = {
  decision: 'noOpinion',
  reason: 'Path not resolved to a valid virtual workspace',
};
const metricsPath = '/metrics';
const outdatedPluginUserAgent = 'Go-http-client/2.0';

/**
 * The root API server of all virtual workspaces, as kcp's pkg/virtual/framework/rootapiserver. The first virtual
 * workspace that resolves the path and accepts the request authorizes and handles it; the filters are those of a shard.
 * Paths of no virtual workspace are denied by authorization, so only members of system:masters see a 404.
 */
export class VirtualWorkspaceServer {
  readonly #workspaces: readonly VirtualWorkspace[];
  readonly #options: VirtualWorkspaceServerOptions;
  readonly #metricsAccess: VirtualWorkspaceServerModules['metricsAccess'];
  readonly #chain: (exchange: ServerExchange) => Promise<void>;

  /** Throws when two virtual workspaces have one name. */
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
        authorizesShardLevelPaths: true,
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

  /** Responds to every exchange and never rejects. */
  readonly handle = async (exchange: ServerExchange): Promise<void> => {
    if (exchange.url !== '/services') return this.#chain(exchange);
    exchange.setHeader('location', servicesPrefix);
    exchange.setHeader('content-type', 'text/html; charset=utf-8');
    exchange.respond(307, `<a href="${servicesPrefix}">Temporary Redirect</a>.\n\n`);
  };

  #classify(method: string, target: RequestPath): RequestInfo {
    for (const workspace of this.#workspaces) {
      const path = workspace.resolve(target);
      if (path === undefined) continue;
      const { key, cluster, requestPath } = path;
      const info = resolveRequestInfo(method, requestPath, cluster);
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
      ...nonResourceAttributes,
      path: `/clusters/${virtual.cluster}${attributes.path}`,
      verb: exchange.method.toLowerCase(),
      virtual,
      exchange,
    };
  }

  async #authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    if (!attributes.isResourceRequest && this.#options.alwaysAllowPaths.includes(attributes.path))
      return { decision: 'allow', reason: '' };
    if ('virtual' in attributes) {
      const virtualAttributes = attributes as VirtualAttributes;
      return virtualAttributes.virtual.workspace.authorize(virtualAttributes);
    }
    if (attributes.path === metricsPath && attributes.verb === 'get' && this.#metricsAccess !== undefined)
      return this.#metricsAccess((attributes as VirtualAttributes).exchange, attributes.user);
    return unresolved;
  }

  #serve(context: RequestContext, outer: Handler | undefined): Promise<void> {
    const { exchange, info } = context;
    if (String(exchange.headers['user-agent'] ?? '').startsWith(outdatedPluginUserAgent))
      context.warn(
        `You are using an old kubectl-kcp plugin. Please update to a version matching the kcp server version "${this.#options.version}".`,
      );
    const { virtual } = info as VirtualInfo;
    if (virtual !== undefined)
      return withShardLevelPaths(() => virtual.workspace.handle({ ...virtual, context }))(context);
    if (outer !== undefined && !info.isResourceRequest && !info.path.startsWith(servicesPrefix)) return outer(context);
    writeNotFoundText(exchange);
    return Promise.resolve();
  }
}

const nonResourceAttributes = {
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
