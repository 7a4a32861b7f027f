import {
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
  mapConcurrently,
  parseJson,
  statusErrors,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { RequestWork } from '@multiplane/component-base';
import type {
  DeleteRequestOptions,
  ObjectClient,
  ObjectReference,
  PatchType,
  WriteRequestOptions,
} from '@multiplane/client';
import type { ResourceResolver } from '../registry/definitions/resource-resolver.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { nameOfKey, namespaceOfKey } from '../registry/store/selection.ts';
import { withStorageStatus } from '../registry/store/storage-status.ts';
import type { DecodeStep } from '../write-path/decode-step.ts';
import { applyStep, patchStep } from '../write-path/decoding/decode-steps.ts';
import { checkNamespace } from '../write-path/decoding/object-identity.ts';
import { applyPatchType, patchTypeOf, preparePatch } from '../write-path/decoding/patch-document.ts';
import { shapeDocument } from '../write-path/decoding/shape-document.ts';
import type { WriteRequest } from '../write-path/write-request.ts';
import { type LoopbackScope, copyOf, listEntries, listObjects } from './loopback-reads.ts';
import { loopbackUser } from './loopback-user.ts';

/** Patches of the server's own code leave kind and apiVersion alone. */
const trustedKinds = { checkPatchedKind: () => undefined };

/** The field manager of controllers that do not name one. */
const loopbackManager = 'multiplane';

export interface LoopbackClientOptions {
  /** {@link loopbackUser} by default. */
  readonly user?: UserInfo | undefined;
}

interface WholeWriteOptions extends WriteRequestOptions {
  /** Writes `status` together with the rest of the object. */
  readonly keepsStatus?: true | undefined;
}

interface PatchOptions extends WriteRequestOptions {
  readonly subresource?: string | undefined;
  readonly force?: boolean | undefined;
}

export interface LoopbackClientModules {
  readonly resolver: ResourceResolver;
  readonly store: ObjectStore;
}

/** The store batches concurrent writes, so the deletions of a collection run concurrently. */
const concurrentDeletions = 8;
const never = new AbortController().signal;

/**
 * The API without HTTP, for controllers and bootstrap inside the server. Writes run through the same write path as HTTP
 * requests (decoding, admission, validation, storage). The user is system:masters, so requests are not authorized. Returned
 * objects belong to the caller. Failures are `StatusError`s.
 */
export class LoopbackClient implements ObjectClient {
  readonly #user: UserInfo;
  readonly #modules: LoopbackClientModules;

  constructor(options: LoopbackClientOptions, modules: LoopbackClientModules) {
    this.#user = options.user ?? loopbackUser;
    this.#modules = modules;
  }

  /** A client whose writes have another user, which admission checks; they are not authorized either. */
  as(user: UserInfo): LoopbackClient {
    return new LoopbackClient({ user }, this.#modules);
  }

  get(resource: GroupVersionResource, reference: ObjectReference): Promise<KubeObject> {
    return this.#run(async () => {
      const { store } = this.#modules;
      const definition = this.#definition(resource, reference.cluster);
      const entry = await store.get(definition, reference, undefined);
      return copyOf(await store.modules.reader.read(definition, entry, { signal: never }));
    });
  }

  list(resource: GroupVersionResource, scope: LoopbackScope): Promise<KubeList> {
    return this.#run(async () =>
      listObjects(this.#modules.store, this.#definition(resource, scope.cluster), scope, never),
    );
  }

  create(
    resource: GroupVersionResource,
    cluster: LogicalClusterName,
    object: KubeObject,
    options: WholeWriteOptions = {},
  ): Promise<KubeObject> {
    return this.#run(async () => {
      const definition = this.#definition(resource, cluster);
      const namespace = definition.namespaced ? (object.metadata.namespace ?? '') : '';
      const request = this.#request(definition, { cluster, namespace, name: '' }, '', options);
      const body = await copyInShape(definition, object, request.work);
      checkNamespace({ definition, namespace }, body);
      const result = await this.#modules.store.create(withStatus(request, options), body);
      return options.discardResult === true ? object : copyOf(result.object);
    });
  }

  update(
    resource: GroupVersionResource,
    cluster: LogicalClusterName,
    object: KubeObject,
    options: WholeWriteOptions & { readonly subresource?: string | undefined } = {},
  ): Promise<KubeObject> {
    return this.#run(async () => {
      const definition = this.#definition(resource, cluster);
      const namespace = definition.namespaced ? (object.metadata.namespace ?? '') : '';
      const reference = { cluster, namespace, name: object.metadata.name ?? '' };
      const request = this.#request(definition, reference, options.subresource ?? '', options);
      const decode: DecodeStep = () => copyInShape(definition, object, request.work);
      const expectedUid = object.metadata.uid;
      const result = await this.#modules.store.update(withStatus(request, options), decode, { expectedUid });
      return options.discardResult === true ? object : copyOf(result.object);
    });
  }

  patch(
    resource: GroupVersionResource,
    reference: ObjectReference,
    type: PatchType,
    patch: JsonObject | JsonObject[],
    options: PatchOptions = {},
  ): Promise<KubeObject> {
    return this.#run(async () => {
      const definition = this.#definition(resource, reference.cluster);
      if (type === applyPatchType) return this.#apply(definition, reference, patch as JsonObject, options);
      const builtIn = definition.origin === 'built-in';
      const request = this.#request(definition, reference, options.subresource ?? '', options);
      const prepared = await preparePatch(
        patchTypeOf(type, definition.origin, builtIn),
        Buffer.from(encodeJson(patch)),
        { validation: 'Ignore', meta: builtIn ? definition.schema.patchMeta : undefined, work: request.work },
      );
      const result = await this.#modules.store.update(request, patchStep(trustedKinds, request, prepared, 'Ignore'));
      return copyOf(result.object);
    });
  }

  async #apply(
    definition: ResourceDefinition,
    reference: ObjectReference,
    config: JsonObject,
    options: PatchOptions,
  ): Promise<KubeObject> {
    const { store } = this.#modules;
    const request = this.#request(definition, reference, options.subresource ?? '', options);
    const sent = encodeJson(config);
    request.work.grow(sent.length);
    const document = { config: parseJson(sent) as JsonObject, duplicates: [] };
    const step = applyStep(store.modules.fields, request, document, {
      force: options.force ?? false,
      fieldValidation: 'Ignore',
    });
    const result = await store.update(request, step, {
      forceCreate: request.subresource === '',
      setsManagedFields: true,
      isApply: true,
    });
    return copyOf(result.object);
  }

  delete(
    resource: GroupVersionResource,
    reference: ObjectReference,
    options: DeleteRequestOptions = {},
  ): Promise<void> {
    return this.#run(async () => {
      const definition = this.#definition(resource, reference.cluster);
      await this.#modules.store.delete(this.#request(definition, reference, '', {}), options);
    });
  }

  deleteCollection(
    resource: GroupVersionResource,
    scope: { readonly cluster: LogicalClusterName; readonly namespace?: string | undefined },
    options: DeleteRequestOptions = {},
  ): Promise<void> {
    return this.#run(async () => {
      const { store } = this.#modules;
      const definition = this.#definition(resource, scope.cluster);
      const matched = await listEntries(store, definition, scope);
      await mapConcurrently(matched, concurrentDeletions, async ({ key }) => {
        const reference = {
          cluster: scope.cluster,
          namespace: definition.namespaced ? namespaceOfKey(key) : '',
          name: nameOfKey(key),
        };
        try {
          await store.delete(this.#request(definition, reference, '', {}), options);
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

  #request(
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
      work: new RequestWork({ flow: reference.cluster }),
      warn: () => undefined,
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

const withStatus = (request: WriteRequest, { keepsStatus }: WholeWriteOptions): WriteRequest =>
  keepsStatus === true ? { ...request, keepsStatus } : request;

/** A copy of the caller's object in the form that decoding a body results in. */
async function copyInShape(definition: ResourceDefinition, object: KubeObject, work: RequestWork): Promise<KubeObject> {
  const body = copyWithKind(definition, object);
  await shapeDocument(body, definition, work);
  return body as unknown as KubeObject;
}

function copyWithKind(definition: ResourceDefinition, object: KubeObject): JsonObject {
  const body = deepCopy(asJson(object));
  body['apiVersion'] ??= apiVersionOf(definition);
  body['kind'] ??= definition.kind;
  return body;
}
