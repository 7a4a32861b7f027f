import {
  type DeepReadonly,
  type GroupVersionResource,
  type JsonObject,
  type KubeList,
  type KubeObject,
  type LogicalClusterName,
  type UserInfo,
  apiVersionOf,
  asJson,
  deepCopy,
  encodeJson,
  isStatusError,
  mastersGroup,
  parseFieldSelector,
  parseJson,
  parseLabelSelector,
  severalAtOnce,
  statusErrors,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type {
  DeleteRequestOptions,
  ObjectClient,
  ObjectReference,
  PatchType,
  WriteRequestOptions,
} from '@multiplane/client';
import { slicesOfTurns } from '@multiplane/component-base';
import type { BodyDecoder } from '../endpoints/body-decoder.ts';
import { applyDocument } from '../endpoints/apply-object.ts';
import { applyPatchType, preparePatch, patchTypeOf } from '../endpoints/patch-document.ts';
import { type PatchWish, applyPatch } from '../endpoints/patch-object.ts';
import { scanScope } from '../endpoints/scan-scope.ts';
import { nameOfKey, namespaceOfKey } from '../endpoints/selection.ts';
import { admitManaged, admitUpdate, checkName, checkNamespace } from '../endpoints/write-object.ts';
import { inSteps, isBig } from '../registry/give-way.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { viewFor } from '../registry/object-view.ts';
import type { ResourceResolver } from '../registry/resource-resolver.ts';
import { withStorageStatus } from '../registry/storage-status.ts';
import { type WriteRequest, groupResourceOf } from '../registry/write-request.ts';

/** Who the server is when it asks itself. */
export const loopbackUser: UserInfo = Object.freeze({
  name: 'system:apiserver',
  uid: '',
  groups: Object.freeze<string[]>([mastersGroup]),
  extra: Object.freeze({}),
});

/** Who owns the fields that a controller sets without saying who it is. */
const loopbackManager = 'multiplane';

export interface LoopbackClientOptions {
  /** {@link loopbackUser} unless told otherwise. */
  readonly user?: UserInfo | undefined;
}

interface WholeWriteOptions extends WriteRequestOptions {
  /** What has its status with the rest is written with it, in one write. */
  readonly keepsStatus?: true | undefined;
}

export interface LoopbackClientModules {
  readonly resolver: ResourceResolver;
  readonly store: ObjectStore;
  readonly decoder: BodyDecoder;
}

/** What a collection waits for is the store: deletions that wait together are written together. */
const deletionsAtOnce = 8;
const never = new AbortController().signal;
const silent = { warn: (): void => undefined };

/**
 * The API without HTTP: the same decoding, admission, validation and registry, for controllers and bootstrap inside the
 * server. It is asked as system:masters, so nobody is asked for permission. What it returns belongs to the caller.
 */
export class LoopbackClient implements ObjectClient {
  readonly #user: UserInfo;
  readonly #modules: LoopbackClientModules;

  constructor(options: LoopbackClientOptions, modules: LoopbackClientModules) {
    this.#user = options.user ?? loopbackUser;
    this.#modules = modules;
  }

  /** The same in somebody else's name: admission asks what they may do. */
  as(user: UserInfo): LoopbackClient {
    return new LoopbackClient({ user }, this.#modules);
  }

  get(resource: GroupVersionResource, reference: ObjectReference): Promise<KubeObject> {
    return this.#run(async () => {
      const { store } = this.#modules;
      const definition = this.#definition(resource, reference.cluster);
      const entry = await store.get(definition, reference, undefined);
      return owned(await store.modules.reader.read(definition, entry, { signal: never }));
    });
  }

  list(
    resource: GroupVersionResource,
    scope: {
      readonly cluster: LogicalClusterName | '*';
      readonly namespace?: string | undefined;
      readonly labelSelector?: string | undefined;
    },
  ): Promise<KubeList> {
    return this.#run(async () => {
      const { store } = this.#modules;
      const { cache, reader } = store.modules;
      const definition = this.#definition(resource, scope.cluster);
      const selectors = {
        labelSelector: parseLabelSelector(scope.labelSelector ?? ''),
        fieldSelector: parseFieldSelector(''),
      };
      const view = viewFor(definition, never, reader);
      const range = scanScope(definition, scope.cluster, scope.namespace ?? '', selectors, view ?? reader);
      await cache.freshRevision();
      const snapshot = range.snapshot(cache);
      const entries = snapshot.entries(undefined, Number.POSITIVE_INFINITY);
      await view?.prepare(entries);
      const items: KubeObject[] = [];
      const slices = slicesOfTurns();
      for (const entry of entries) {
        if (range.selection === undefined || range.selection(entry))
          items.push(owned((view ?? reader).object(definition, entry)));
        if (slices.over) await slices.next();
      }
      return {
        apiVersion: apiVersionOf(definition),
        kind: definition.listKind,
        metadata: { resourceVersion: String(snapshot.revision) },
        items,
      };
    });
  }

  create(
    resource: GroupVersionResource,
    cluster: LogicalClusterName,
    object: KubeObject,
    options: WholeWriteOptions = {},
  ): Promise<KubeObject> {
    return this.#run(async () => {
      const definition = this.#definition(resource, cluster);
      const body = this.#shaped(definition, object);
      const namespace = definition.namespaced ? (body.metadata.namespace ?? '') : '';
      checkNamespace({ definition, namespace }, body);
      const request = this.#write(definition, { cluster, namespace, name: '' }, '', options);
      const { store } = this.#modules;
      const { keepsStatus } = options;
      const written = await store.create(keepsStatus === true ? { ...request, keepsStatus } : request, body);
      return options.unread === true ? object : owned(written.object);
    });
  }

  update(
    resource: GroupVersionResource,
    cluster: LogicalClusterName,
    object: KubeObject,
    options: WholeWriteOptions & { readonly subresource?: string | undefined } = {},
  ): Promise<KubeObject> {
    return this.#run(async () => {
      const { store } = this.#modules;
      const definition = this.#definition(resource, cluster);
      const namespace = definition.namespaced ? (object.metadata.namespace ?? '') : '';
      const { keepsStatus } = options;
      const request = {
        ...this.#write(
          definition,
          { cluster, namespace, name: object.metadata.name ?? '' },
          options.subresource ?? '',
          options,
        ),
        ...(keepsStatus === true ? { keepsStatus } : {}),
      };
      const written = await store.update(
        request,
        async (current, bytes) => {
          const body = isBig(bytes)
            ? await this.#shapedInTurns(definition, object, bytes)
            : this.#shaped(definition, object);
          await admitUpdate(store, request, body, current, bytes);
          return body;
        },
        { expectedUid: object.metadata.uid },
      );
      return options.unread === true ? object : owned(written.object);
    });
  }

  patch(
    resource: GroupVersionResource,
    reference: ObjectReference,
    type: PatchType,
    patch: JsonObject | JsonObject[],
    options: WriteRequestOptions & {
      readonly subresource?: string | undefined;
      readonly force?: boolean | undefined;
    } = {},
  ): Promise<KubeObject> {
    return this.#run(async () => {
      const { store, decoder } = this.#modules;
      const definition = this.#definition(resource, reference.cluster);
      if (type === applyPatchType) return this.#apply(definition, reference, patch as JsonObject, options);
      const builtIn = definition.origin === 'built-in';
      const prepared = await preparePatch(
        patchTypeOf(type, definition.origin, builtIn),
        Buffer.from(encodeJson(patch)),
        'Ignore',
        builtIn ? definition.schema.patchMeta : undefined,
      );
      const request = this.#write(definition, reference, options.subresource ?? '', options);
      const wish: PatchWish = { context: silent, expected: definition, validation: 'Ignore' };
      const written = await store.update(request, async (current, bytes) => {
        if (current === undefined) throw statusErrors.notFound(groupResourceOf(definition), reference.name);
        const body = await applyPatch(decoder, wish, prepared, current, bytes);
        checkName(reference, body);
        checkNamespace({ definition, namespace: reference.namespace }, body);
        await admitUpdate(store, request, body, current, bytes);
        return body;
      });
      return owned(written.object);
    });
  }

  async #apply(
    definition: ResourceDefinition,
    reference: ObjectReference,
    config: JsonObject,
    options: WriteRequestOptions & {
      readonly subresource?: string | undefined;
      readonly force?: boolean | undefined;
    },
  ): Promise<KubeObject> {
    const { store } = this.#modules;
    const request = this.#write(definition, reference, options.subresource ?? '', options);
    const sent = encodeJson(config);
    const copy = parseJson(sent) as JsonObject;
    const written = await store.update(
      request,
      async (current, bytes) => {
        const document = { config: copy, duplicates: [], bytes };
        const body = await applyDocument(this.#modules, request, definition, document, current, {
          force: options.force ?? false,
          fieldValidation: 'Ignore',
        });
        checkName(reference, body);
        checkNamespace({ definition, namespace: reference.namespace }, body);
        await admitManaged(store, request, body, current);
        return body;
      },
      { forceCreate: request.subresource === '', applies: true, bytes: sent.length },
    );
    return owned(written.object);
  }

  delete(
    resource: GroupVersionResource,
    reference: ObjectReference,
    options: DeleteRequestOptions = {},
  ): Promise<void> {
    return this.#run(async () => {
      const definition = this.#definition(resource, reference.cluster);
      await this.#modules.store.delete(this.#write(definition, reference, '', {}), options);
    });
  }

  deleteCollection(
    resource: GroupVersionResource,
    scope: { readonly cluster: LogicalClusterName; readonly namespace?: string | undefined },
    options: DeleteRequestOptions = {},
  ): Promise<void> {
    return this.#run(async () => {
      const { store } = this.#modules;
      const { cache, reader } = store.modules;
      const definition = this.#definition(resource, scope.cluster);
      const selectors = { labelSelector: parseLabelSelector(''), fieldSelector: parseFieldSelector('') };
      const range = scanScope(definition, scope.cluster, scope.namespace ?? '', selectors, reader);
      await cache.freshRevision();
      const matched = range.snapshot(cache).entries(undefined, Number.POSITIVE_INFINITY);
      await severalAtOnce(matched, deletionsAtOnce, async ({ key }) => {
        const reference = {
          cluster: scope.cluster,
          namespace: definition.namespaced ? namespaceOfKey(key) : '',
          name: nameOfKey(key),
        };
        try {
          await store.delete(this.#write(definition, reference, '', {}), options);
        } catch (error) {
          if (!isStatusError(error, 'NotFound')) throw error;
        }
      });
    });
  }

  #definition(
    { group, version, resource }: GroupVersionResource,
    cluster: LogicalClusterName | '*',
  ): ResourceDefinition {
    const definition = this.#modules.resolver.resolve(cluster, group, version, resource);
    if (definition === undefined) throw statusErrors.unknownResource();
    return definition;
  }

  /** A private copy of the caller's object in the shape that a decoded body has. */
  #shaped(definition: ResourceDefinition, object: KubeObject): KubeObject {
    const body = this.#copied(definition, object);
    this.#modules.decoder.shapeDocument(body, definition);
    return body as unknown as KubeObject;
  }

  /** {@link #shaped} with turns for others between the passes over something big. */
  async #shapedInTurns(definition: ResourceDefinition, object: KubeObject, bytes: number): Promise<KubeObject> {
    const body = this.#copied(definition, object);
    await inSteps(this.#modules.decoder.shapeInSteps(body, definition), bytes);
    return body as unknown as KubeObject;
  }

  #copied(definition: ResourceDefinition, object: KubeObject): JsonObject {
    const body = deepCopy(asJson(object));
    body['apiVersion'] ??= apiVersionOf(definition);
    body['kind'] ??= definition.kind;
    return body;
  }

  #write(
    definition: ResourceDefinition,
    reference: ObjectReference,
    subresource: string,
    options: WriteRequestOptions,
  ): WriteRequest {
    return {
      definition,
      cluster: reference.cluster,
      namespace: reference.namespace,
      name: reference.name,
      subresource,
      user: this.#user,
      dryRun: options.dryRun ?? false,
      fieldManager: options.fieldManager ?? loopbackManager,
      options: options.fieldManager === undefined ? {} : { fieldManager: options.fieldManager },
      signal: never,
      warn: silent.warn,
    };
  }

  async #run<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw withStorageStatus(error);
    }
  }
}

function owned(object: DeepReadonly<KubeObject>): KubeObject {
  return deepCopy(asJson(object as KubeObject)) as unknown as KubeObject;
}
