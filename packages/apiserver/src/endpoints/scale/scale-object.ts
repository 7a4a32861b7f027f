import {
  type DeepReadonly,
  type Json,
  type JsonObject,
  type KubeObject,
  asJson,
  isJsonObject,
  setOwn,
  statusErrors,
} from '@multiplane/apimachinery';
import type { ScaleSubresource } from '@multiplane/apis';

/** The smallest int32: in a Scale under change, the replicas of an object that has none. */
const absentReplicas = -0x80000000;

/** The Scale that an update or a patch changes; the object may have no replicas yet. */
export function updatableScaleOf(part: ScaleSubresource, object: DeepReadonly<KubeObject>): KubeObject {
  return scaleOf(part, object, absentReplicas);
}

/** The autoscaling/v1 Scale of an object. Throws 500 for an object without replicas in its spec, as Kubernetes does. */
export function scaleOf(part: ScaleSubresource, object: DeepReadonly<KubeObject>, absent?: number): KubeObject {
  const json = asJson(object as KubeObject);
  const replicas = getPath(json, part.specReplicasPath) ?? absent;
  if (replicas === undefined)
    throw statusErrors.internal(
      `the spec replicas field ${JSON.stringify(`.${part.specReplicasPath}`)} does not exist`,
    );
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = part.labelSelectorPath === undefined ? undefined : getPath(json, part.labelSelectorPath);
  const metadata = Object.fromEntries(
    Object.entries({ name, namespace, uid, resourceVersion, creationTimestamp }).filter(
      ([, value]) => value !== undefined,
    ),
  );
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata,
    spec: replicas === 0 ? {} : { replicas },
    status: {
      replicas: getPath(json, part.statusReplicasPath) ?? 0,
      ...(typeof selector === 'string' && selector !== '' ? { selector } : {}),
    },
  };
}

/** Sets the replicas of an object to those of its Scale, in place. Throws 400 if neither has any. */
export function setReplicas(part: ScaleSubresource, object: KubeObject, scale: DeepReadonly<KubeObject>): void {
  const replicas = replicasOf(scale as KubeObject);
  if (replicas === absentReplicas)
    throw statusErrors.badRequest(`the spec replicas field ".${part.specReplicasPath}" cannot be empty`);
  setPath(asJson(object), part.specReplicasPath, replicas);
}

function replicasOf(scale: KubeObject): Json {
  const spec = asJson(scale)['spec'];
  return isJsonObject(spec ?? null) ? ((spec as JsonObject)['replicas'] ?? 0) : 0;
}

function getPath(object: JsonObject, path: string): Json | undefined {
  let value: Json | undefined = object;
  for (const name of path.split('.')) {
    if (value === undefined || !isJsonObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

function setPath(object: JsonObject, path: string, value: Json): void {
  const names = path.split('.');
  const last = names.pop() as string;
  let parent = object;
  for (const name of names) {
    const child = Object.hasOwn(parent, name) ? parent[name] : undefined;
    if (child !== undefined && isJsonObject(child)) {
      parent = child;
    } else {
      const made: JsonObject = {};
      setOwn(parent, name, made);
      parent = made;
    }
  }
  setOwn(parent, last, value);
}
