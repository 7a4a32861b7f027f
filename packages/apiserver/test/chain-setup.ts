import { asLogicalClusterName, type LogicalClusterName, type UserInfo } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { createLogger, HealthChecks, MetricsRegistry, silentLogger, type Clock } from '@multiplane/component-base';
import type { Answer, TlsFixture } from '@multiplane/testing/serving';
import {
  type AuthorizationAttributes,
  ConnectionTable,
  defaultHandlerChainOptions,
  Draining,
  type HandlerChainOptions,
  type HttpServer,
  nonResourceEndpoints,
  pathUnavailable,
  pathOnOtherShard,
  type PathProblem,
  type RequestContext,
  RequestMetrics,
} from '@multiplane/generic-server';
import { discoveryHandler } from '../src/discovery/discovery-handler.ts';
import { openapiHandler } from '../src/openapi/openapi-handler.ts';
import { buildHandlerChain, type HandlerChainModules } from '../src/resource-handler-chain.ts';
import type { ResourceResolver } from '../src/registry/definitions/resource-resolver.ts';

export const admin = { authorization: 'Bearer admin' };
export const alice = { authorization: 'Bearer alice' };
export const statusOf = (answer: Answer): { message: string; reason: string; code: number; details?: unknown } =>
  JSON.parse(answer.body.toString()) as never;

const users: Readonly<Record<string, UserInfo>> = {
  'Bearer admin': { name: 'admin', uid: '', groups: ['system:masters'], extra: {} },
  'Bearer alice': { name: 'alice', uid: '', groups: ['system:authenticated'], extra: {} },
};
const anonymous: UserInfo = { name: 'system:anonymous', uid: '', groups: ['system:unauthenticated'], extra: {} };

const configMaps = {
  group: '',
  version: 'v1',
  resource: 'configmaps',
  subresources: {},
  namespaced: true,
  origin: 'built-in',
} as unknown as ResourceDefinition;

const resolver: ResourceResolver = {
  resolve: (_cluster, group, version, resource) =>
    group === '' && version === 'v1' && resource === 'configmaps' ? configMaps : undefined,
  list: () => [],
  discoveryHash: () => 'none',
  isBuiltInGroup: (group) => group === '' || group === 'rbac.authorization.k8s.io',
};

const paths: Readonly<Record<string, LogicalClusterName | PathProblem>> = {
  'root:org': asLogicalClusterName('abc'),
  'root:far': pathOnOtherShard,
  'root:down': pathUnavailable,
};

/** A handler chain behind a listener, with parts that the test controls. */
export class ChainSetup {
  readonly #tls: TlsFixture;
  server: HttpServer | undefined;
  asked: AuthorizationAttributes[] = [];
  handled: RequestContext[] = [];
  allowed = (attributes: AuthorizationAttributes): boolean => attributes.path === '/livez';
  resources = (context: RequestContext): Promise<void> => {
    context.exchange.setHeader('content-type', 'application/json');
    context.exchange.respond(200, '{"kind":"ConfigMap"}\n');
    return Promise.resolve();
  };
  readonly health = new HealthChecks();
  /** Log lines of the outer documents. */
  readonly logged: string[] = [];
  readonly registry = new MetricsRegistry();
  readonly metrics = new RequestMetrics(this.registry);
  readonly draining = new Draining();
  readonly connections = new ConnectionTable({
    beforeAuthentication: 100,
    beforeAuthenticationPerSource: 100,
    perUser: 1000,
    total: 100,
  });

  constructor(tls: TlsFixture) {
    this.#tls = tls;
  }

  async serve(options: Partial<HandlerChainOptions> = {}, clock?: Clock): Promise<HttpServer> {
    const modules: HandlerChainModules = {
      logger: silentLogger,
      draining: this.draining,
      connections: this.connections,
      metrics: this.metrics,
      resolver,
      clock,
      resolvePath: (path) => Promise.resolve(Object.hasOwn(paths, path) ? paths[path] : undefined),
      authenticator: {
        authenticate: (exchange) => {
          const credential = exchange.headers['authorization'];
          if (credential === undefined) return Promise.resolve({ user: anonymous });
          const user = users[String(credential)];
          if (user === undefined) return Promise.reject(new Error('invalid bearer token'));
          return Promise.resolve({ user });
        },
      },
      authorizer: {
        authorize: (attributes) => {
          this.asked.push(attributes);
          return Promise.resolve({ decision: this.allowed(attributes) ? 'allow' : 'noOpinion', reason: '' });
        },
      },
      impersonation: (next) => next,
      resources: async (context) => {
        this.handled.push(context);
        await this.resources(context);
      },
      discovery: discoveryHandler({}, { resolver }),
      openapi: openapiHandler({ version: 'v1' }, { resolver }),
      outer: nonResourceEndpoints({
        health: this.health,
        registry: this.registry,
        metrics: this.metrics,
        logger: createLogger({ format: 'text' }, { write: (line) => void this.logged.push(line) }),
        version: {
          major: '1',
          minor: '36',
          gitVersion: 'v1.36.0+multiplane-0.1.0',
          gitCommit: '',
          gitTreeState: '',
          buildDate: '',
          platform: 'linux/amd64',
        },
      }),
    };
    return this.#tls.serve(
      buildHandlerChain({ ...defaultHandlerChainOptions, ...options }, modules),
      {},
      this.connections,
    );
  }
}
