import {
  asJson,
  type DeepReadonly,
  deepCopy,
  isStatusError,
  type KubeObject,
  statusErrors,
} from '@multiplane/apimachinery';
import type { Strategy } from '@multiplane/apis';
import { groupResourceOf } from '../registry/definitions/group-resource.ts';
import { currentState } from '../registry/store/current-state.ts';
import { keyOf } from '../registry/store/object-key.ts';
import type { ObjectStoreModules } from '../registry/store/object-store-modules.ts';
import { createObject } from './create-object.ts';
import { updateObject } from './update-object.ts';
import type { WriteRequest } from './write-request.ts';
import type { WriteResult } from './write-result.ts';

/**
 * POST of a decoded object. If an object of its name gives way ({@link Strategy.givesWay}), it is replaced and keeps its uid: watches
 * get MODIFIED and the client a 201. Otherwise the object is created. The object may appear, disappear or cease to give
 * way meanwhile, so both are tried again until one of them decides.
 */
export function createOrReplace(
  modules: ObjectStoreModules,
  request: WriteRequest,
  object: KubeObject,
): Promise<WriteResult> {
  const { definition, cluster, namespace } = request;
  const { name = '' } = object.metadata;
  if (definition.strategy.givesWay === undefined || name === '') return createObject(modules, request, object);
  return untilDecided(modules, request, { key: keyOf(definition, { cluster, namespace, name }), name, object });
}

async function untilDecided(
  modules: ObjectStoreModules,
  request: WriteRequest,
  sent: { readonly key: string; readonly name: string; readonly object: KubeObject },
): Promise<WriteResult> {
  const { key, name, object } = sent;
  const { strategy } = request.definition;
  // Both change what they store.
  const copy = (): KubeObject => deepCopy(asJson(object)) as unknown as KubeObject;
  const givesWay = async (): Promise<boolean> => {
    const { entry } = await currentState(modules.cache, key, true);
    return entry !== undefined && mayReplace(strategy, modules.decoded.get(entry));
  };
  for (;;) {
    request.signal.throwIfAborted();
    if (await givesWay()) {
      try {
        return { ...(await replace(modules, request, name, copy)), created: true };
      } catch (error) {
        if (!isStatusError(error, 'NotFound') && !isStatusError(error, 'AlreadyExists')) throw error;
      }
    }
    try {
      return await createObject(modules, request, copy());
    } catch (error) {
      if (!isStatusError(error, 'AlreadyExists') || !(await givesWay())) throw error;
    }
  }
}

/** Throws NotFound or AlreadyExists if the object is gone or does not give way any more. */
function replace(
  modules: ObjectStoreModules,
  request: WriteRequest,
  name: string,
  copy: () => KubeObject,
): Promise<WriteResult> {
  const { definition } = request;
  return updateObject(modules, named(request, name), (current) => {
    if (current === undefined || !mayReplace(definition.strategy, current))
      throw statusErrors.alreadyExists(groupResourceOf(definition), name);
    const object = copy();
    const { uid, resourceVersion } = current.metadata;
    Object.assign(object.metadata, { uid, resourceVersion });
    return object;
  });
}

const mayReplace = (strategy: Strategy, existing: DeepReadonly<KubeObject>): boolean =>
  existing.metadata.deletionTimestamp === undefined && strategy.givesWay?.(existing) === true;

/** The request with a name, which the URL of a create does not have. The user and the rest stay its own. */
function named(request: WriteRequest, name: string): WriteRequest {
  return {
    definition: request.definition,
    cluster: request.cluster,
    namespace: request.namespace,
    name,
    subresource: request.subresource,
    user: request.user,
    dryRun: request.dryRun,
    fieldManager: request.fieldManager,
    options: request.options,
    keepsStatus: request.keepsStatus,
    work: request.work,
    get signal() {
      return request.signal;
    },
    warn: (text) => request.warn(text),
    annotate: (annotation, value, level) => request.annotate?.(annotation, value, level),
  };
}
