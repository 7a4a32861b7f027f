import {
  decodeListOptions,
  parseJson,
  StatusError,
  statusErrors,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  apiResourceSchemas,
  kcpResources,
  type APIExport,
  type APIResourceSchema,
  type ResourceDefinition,
} from '@multiplane/apis';
import type { ResourceRequest } from '@multiplane/apiserver';
import type { Lister } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import {
  encodeObject,
  endpointKinds,
  negotiate,
  writeBytes,
  type EndpointKind,
  type Exchange,
  type RequestContext,
} from '@multiplane/generic-server';
import type { ServedResource } from '@multiplane/virtual-framework';
import type { BindingList, ConsumerBindings } from '../consumer-bindings.ts';
import { boundSchemas, exportClustersOf, type BoundSchema } from './bound-schemas.ts';
import type { SchemaChangeLog } from './schema-change-log.ts';
import { encodeSchema, encodeSchemaList, type ResponseFormat } from './schema-encoding.ts';
import { watchSchemas, type VisibleSchemas } from './schema-watch.ts';

export interface BoundSchemaResourceModules {
  /** APIExports of all shards. */
  readonly exports: Lister<APIExport>;
  readonly schemas: Lister<APIResourceSchema>;
  /** APIBindings of this shard. */
  readonly bindings: ConsumerBindings;
  readonly changes: SchemaChangeLog;
  readonly clock: Clock;
  /** A number from 0 to 1. */
  readonly random: () => number;
}

/** GET, LIST and WATCH of the schemas that a consumer has bound. */
export class BoundSchemaResource implements ServedResource {
  readonly definition = schemaDefinition();
  readonly #modules: BoundSchemaResourceModules;

  constructor(modules: BoundSchemaResourceModules) {
    this.#modules = modules;
  }

  async handle(request: ResourceRequest): Promise<void> {
    const { definition } = this;
    const { changes, clock, random } = this.#modules;
    const { context, name } = request;
    const cluster = request.cluster as LogicalClusterName;
    const { verb, query } = context.info;
    const formatFor = (kind: EndpointKind): ResponseFormat => {
      const negotiated = negotiate(context, kind);
      if (negotiated.encoding === 'protobuf') throw notInProtobuf();
      return { definition, negotiated, query, now: () => new Date(clock.now()) };
    };
    if (verb === 'get') {
      const found = await this.#listVisible(context.exchange, cluster);
      const object = found.find(({ metadata }) => metadata.name === name);
      if (object === undefined) throw statusErrors.notFound(definition, name);
      const format = formatFor(endpointKinds.customObject);
      write(context, format, encodeSchema(format, object));
      return;
    }
    const options = decodeListOptions(query, verb === 'watch');
    // The deprecated paths below /watch/ may name an object.
    const selects = ({ metadata }: BoundSchema): boolean =>
      (name === '' || metadata.name === name) &&
      options.labelSelector.matches(metadata.labels ?? {}) &&
      options.fieldSelector.matches((field) => (field === 'metadata.name' ? (metadata.name ?? '') : ''));
    for (const { field } of options.fieldSelector.requirements)
      if (field !== 'metadata.name') throw statusErrors.badRequest(`field label not supported: ${field}`);
    if (verb === 'watch') {
      const listVisible = (): VisibleSchemas => this.#visibleNow(cluster, selects);
      const format = formatFor(endpointKinds.customWatch);
      await watchSchemas(context, format, options, { changes, clock, random, listVisible });
      return;
    }
    // Read the version before the state: a watch from this version misses nothing, and repeats at most known changes.
    const { version } = changes;
    const format = formatFor(endpointKinds.customList);
    write(
      context,
      format,
      encodeSchemaList(format, (await this.#listVisible(context.exchange, cluster)).filter(selects), version),
    );
  }

  async #listVisible(exchange: Exchange, cluster: LogicalClusterName): Promise<readonly BoundSchema[]> {
    const found = await this.#modules.bindings.evaluate(exchange, cluster, (known) => {
      const visible = boundSchemas(known, this.#modules);
      return visible.size === 0 ? undefined : visible;
    });
    return [...(found?.values() ?? [])];
  }

  #visibleNow(consumer: LogicalClusterName, selects: (schema: BoundSchema) => boolean): VisibleSchemas {
    const known: BindingList = this.#modules.bindings.cached(consumer);
    const providers = exportClustersOf(known);
    return {
      schemas: new Map(
        boundSchemas(known, this.#modules)
          .entries()
          .filter(([, schema]) => selects(schema)),
      ),
      isAffectedBy: ({ what, cluster }) => (what === 'binding' ? cluster === consumer : providers.has(cluster)),
    };
  }
}

function schemaDefinition(): ResourceDefinition {
  const { group, resource } = apiResourceSchemas;
  const found = kcpResources().find((kind) => kind.group === group && kind.resource === resource);
  if (found === undefined) throw new Error('no definition of apiresourceschemas');
  return { ...found, verbs: ['get', 'list', 'watch'], subresources: {} };
}

function write(context: RequestContext, { negotiated }: ResponseFormat, text: string): void {
  const plain = negotiated.encoding === 'json' && !negotiated.pretty;
  const body = plain ? `${text}\n` : encodeObject(parseJson(text), negotiated);
  writeBytes(context, 200, negotiated.mediaType, body);
}

const notInProtobuf = (): StatusError =>
  new StatusError({
    code: 406,
    reason: 'NotAcceptable',
    message: 'only the following media types are accepted: application/json, application/yaml',
  });
