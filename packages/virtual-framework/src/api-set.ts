import { createHash } from 'node:crypto';
import type { ResourceDefinition } from '@multiplane/apis';
import {
  definitionHash,
  discoveryHandler,
  locateResource,
  openapiHandler,
  type ResourceRequest,
  type ServedApis,
} from '@multiplane/apiserver';
import type { Clock, ObjectFaults } from '@multiplane/component-base';
import { type Handler, writeNotFoundText } from '@multiplane/generic-server';
import type { VirtualRequest } from './virtual-workspace.ts';

/** One resource of an API set: its definition and the handler of its requests. */
export interface ServedResource {
  readonly definition: ResourceDefinition;
  handle(request: ResourceRequest): Promise<void>;
}

/**
 * The resources of one API domain (one key of a virtual workspace). Immutable; a change creates
 * another set.
 */
export class ApiSet implements ServedApis {
  #hash: string | undefined;
  readonly #resources: ReadonlyMap<string, ServedResource>;

  constructor(resources: readonly ServedResource[]) {
    this.#resources = new Map(resources.map((resource) => [keyOf(resource.definition), resource]));
  }

  /** Computed lazily: only discovery and OpenAPI documents need it. */
  get hash(): string {
    if (this.#hash === undefined) {
      const hash = createHash('sha256');
      for (const definition of this.definitions()) {
        const { singular, shortNames, categories } = definition;
        hash.update(definitionHash(definition)).update(JSON.stringify([singular, shortNames, categories]));
      }
      this.#hash = `virtual ${hash.digest('base64')}`;
    }
    return this.#hash;
  }

  definitions(): readonly ResourceDefinition[] {
    return [...this.#resources.values()].map(({ definition }) => definition);
  }

  find(group: string, version: string, resource: string): ServedResource | undefined {
    return this.#resources.get(keyOf({ group, version, resource }));
  }

  /** The definition as requests are routed by it: virtual workspaces know every kind by an APIResourceSchema. */
  routed(group: string, version: string, resource: string): ResourceDefinition | undefined {
    const definition = this.find(group, version, resource)?.definition;
    return definition?.origin === 'built-in' ? { ...definition, origin: 'custom' } : definition;
  }

  isBuiltInGroup(): boolean {
    return false;
  }
}

const keyOf = ({ group, version, resource }: { group: string; version: string; resource: string }): string =>
  `${group}/${version}/${resource}`;

export interface ApiSetHandlerOptions {
  /** `info.version` of the OpenAPI documents. */
  readonly version: string;
}

/** Handles requests to API sets. */
export type ApiSetHandler = (request: VirtualRequest, set: ApiSet) => Promise<void>;

/**
 * Serves API sets through the discovery, OpenAPI and routing of the resource pipeline. One handler serves all virtual
 * workspaces of a server, so sets with equal content share their documents.
 */
export function apiSetHandler(
  options: ApiSetHandlerOptions,
  modules: {
    readonly clock: Clock;
    readonly faults?: ObjectFaults | undefined;
    /** Serves the documents of the server itself (`/version`). */
    readonly outer: Handler;
  },
): ApiSetHandler {
  const sets = new WeakMap<object, ApiSet>();
  const servedApisOf = (context: object): ApiSet | undefined => sets.get(context);
  const discovery: Handler = discoveryHandler({ isVirtual: true }, { servedApisOf });
  const plainDiscovery: Handler = discoveryHandler({ isVirtual: true, isPlain: true }, { servedApisOf });
  const openapi: Handler = openapiHandler(
    { version: options.version, isVirtual: true, ...openapiCacheLimits },
    { servedApisOf, clock: modules.clock, faults: modules.faults },
  );
  return async ({ context, workspace }, set) => {
    sets.set(context, set);
    const { info } = context;
    if (info.isResourceRequest) return serve(context, set);
    const [, first] = info.path.split('/');
    if (first === 'api' || first === 'apis')
      return workspace.hasPlainDiscovery === true ? plainDiscovery(context) : discovery(context);
    if (first === 'openapi') return openapi(context);
    if (first === 'version') return modules.outer(context);
    if (info.path !== '/' && workspace.listsRootPaths !== true) return writeNotFoundText(context.exchange);
    context.exchange.setHeader('content-type', 'application/json');
    context.exchange.respond(info.path === '/' ? 200 : 404, rootIndex);
  };
}

/**
 * What kcp's virtual workspaces list as their root paths, whatever they serve; also the body of a 404 outside of these
 * paths (k8s.io/apiserver/pkg/server/routes/index.go).
 */
const rootPaths = [
  '/api',
  '/api/v1',
  '/api/v1/',
  '/apis',
  '/apis/',
  '/metrics',
  '/metrics/slis',
  '/openapi',
  '/openapi/',
  '/version',
];
const rootIndex = JSON.stringify({ paths: rootPaths }, undefined, 2);

/** API sets are few and small compared to what a shard serves, so the caches are, too. */
const openapiCacheLimits = { cachedBytes: 4 * 1024 * 1024, cachedDefinitions: 2_048 };

async function serve(context: VirtualRequest['context'], set: ApiSet): Promise<void> {
  const resolver = {
    resolve: (_cluster: string, group: string, version: string, resource: string) =>
      set.routed(group, version, resource),
    isBuiltInGroup: () => false,
  };
  const request = locateResource(resolver, context);
  const { group, version, resource } = context.info;
  const served = set.find(group, version, resource);
  if (request === undefined || served === undefined) writeNotFoundText(context.exchange);
  else await served.handle(request);
}
