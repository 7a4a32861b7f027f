import { traced } from '@multiplane/component-base';
import {
  type DeepReadonly,
  type FieldError,
  type KubeObject,
  asJson,
  deepEqual,
  FieldPath,
  statusErrors,
  validateObjectMetaIncrementally,
  validateObjectMetaUpdateIncrementally,
  validatePathSegmentName,
  validateStandardFinalizers,
} from '@multiplane/apimachinery';
import type { ResourceDefinition, Strategy, StrategyContext } from '@multiplane/apis';
import { storedKindOf } from '../registry/definitions/group-resource.ts';
import type { ObjectStoreModules } from '../registry/store/object-store-modules.ts';
import { checkNamespace } from './decoding/object-identity.ts';
import { checkKind, setCluster, unsetCluster } from './object-metadata.ts';
import { strategyContext, strategyOf } from './strategy.ts';
import type { WriteRequest } from './write-request.ts';

/**
 * Sets what the server decides about a changed object, runs the strategy's hooks and validates the object, in the order
 * of `rest.BeforeUpdate` of Kubernetes. In place. Throws 422.
 */
export async function beforeUpdate(
  modules: Pick<ObjectStoreModules, 'clock' | 'slowly'>,
  request: WriteRequest,
  object: KubeObject,
  old: DeepReadonly<KubeObject>,
): Promise<void> {
  const { definition, work } = request;
  const strategy = strategyOf(request);
  const context = strategyContext(request, () => new Date(modules.clock.now()), modules.slowly);
  await work.pause();
  prepare(request, strategy, context, object, old);
  const metadataErrors = await validateMetadata(request, strategy, object, old);
  await work.pause();
  const errors = allErrors(strategy, metadataErrors, {
    kind: await traced('schema and CEL validation', () => strategy.validateUpdate(context, object, old)),
    change: strategy.validateChange?.(object, old) ?? [],
  });
  // Admission may have changed the name.
  if (errors.length > 0)
    throw statusErrors.invalid(storedKindOf(definition, object.kind), object.metadata.name ?? '', errors);
  await work.pause();
  for (const text of strategy.warnings(context, object, old)) request.warn(text);
  strategy.canonicalize(object);
  setCluster(object.metadata, request.cluster);
}

/** Errors in metadata. */
interface MetadataErrors {
  readonly registry: readonly FieldError[];
  /** The kind has rules for names, the registry none but those of paths. */
  readonly object: readonly FieldError[];
  readonly update: readonly FieldError[];
  /** Those of finalizers that only the kind's validation checks. */
  readonly finalizers: readonly FieldError[];
}

/**
 * Kubernetes validates metadata in BeforeUpdate and again in the kind's own validation: a cause is listed repeatedly, in the
 * order of {@link MetadataChecks}.
 */
function allErrors(
  { metadataChecks: { onUpdate } }: Strategy,
  { registry, object, update, finalizers }: MetadataErrors,
  own: { readonly kind: readonly FieldError[]; readonly change: readonly FieldError[] },
): FieldError[] {
  const errors = [...registry, ...update];
  for (const check of onUpdate) {
    if (check === 'kind' || check === 'change') errors.push(...own[check]);
    else errors.push(...(check === 'update' ? update : object), ...finalizers);
  }
  if (!onUpdate.includes('change')) errors.push(...own.change);
  if (!onUpdate.includes('kind')) errors.push(...own.kind);
  return errors;
}

/** Sets what the server decides, and runs the strategy's hook. */
function prepare(
  request: WriteRequest,
  strategy: Strategy,
  context: StrategyContext,
  object: KubeObject,
  old: DeepReadonly<KubeObject>,
): void {
  const { definition } = request;
  const { metadata } = object;
  const oldMetadata = old.metadata as KubeObject['metadata'];
  metadata.resourceVersion = oldMetadata.resourceVersion as string;
  // Admission may have changed it.
  checkNamespace(request, object);
  copyField(metadata, oldMetadata, 'generation');
  unsetCluster(metadata);
  checkKind(definition, object);
  strategy.prepareForUpdate(context, object, old);

  if ((metadata.uid ?? '') === '') metadata.uid = oldMetadata.uid as string;
  copyField(metadata, oldMetadata, 'creationTimestamp');
  if (oldMetadata.deletionTimestamp !== undefined) metadata.deletionTimestamp = oldMetadata.deletionTimestamp;
  if (oldMetadata.deletionGracePeriodSeconds !== undefined && metadata.deletionGracePeriodSeconds === undefined) {
    metadata.deletionGracePeriodSeconds = oldMetadata.deletionGracePeriodSeconds;
  }
  if (!strategy.managesGeneration) return;
  if (strategy.hasChanged?.(object) === true || specChanged(definition, object, old))
    metadata.generation = (oldMetadata.generation ?? 0) + 1;
}

async function validateMetadata(
  { definition, work }: WriteRequest,
  strategy: Strategy,
  { metadata }: KubeObject,
  old: DeepReadonly<KubeObject>,
): Promise<MetadataErrors> {
  const { standardFinalizers } = strategy.metadataChecks;
  const rules = { namespaced: definition.namespaced, validateName: (text: string) => strategy.validateName(text) };
  const ownErrors = await work.run(validateObjectMetaIncrementally(metadata, rules));
  const update = await work.run(validateObjectMetaUpdateIncrementally(metadata, old.metadata));
  return {
    // The name is that of the stored object, so that only the prefix of a generated one can make a difference.
    registry:
      (metadata.generateName ?? '') === ''
        ? ownErrors
        : await work.run(
            validateObjectMetaIncrementally(metadata, { ...rules, validateName: validatePathSegmentName }),
          ),
    object: ownErrors,
    update,
    finalizers: standardFinalizers
      ? validateStandardFinalizers(metadata.finalizers ?? [], FieldPath.of('metadata').child('finalizers'))
      : [],
  };
}

function copyField(
  to: KubeObject['metadata'],
  from: KubeObject['metadata'],
  field: 'generation' | 'creationTimestamp',
): void {
  const value = from[field];
  if (value === undefined) delete to[field];
  else (to as Record<string, unknown>)[field] = value;
}

/** Whether anything but metadata differs, and `status` where it is a subresource. */
function specChanged(definition: ResourceDefinition, object: KubeObject, old: DeepReadonly<KubeObject>): boolean {
  const hasStatusSubresource = definition.origin === 'built-in' || definition.subresources['status'] !== undefined;
  const left = asJson(object);
  const right = asJson(old as KubeObject);
  const compared = (key: string): boolean => key !== 'metadata' && !(hasStatusSubresource && key === 'status');
  for (const key of Object.keys(left)) {
    if (!compared(key)) continue;
    if (!deepEqual(left[key], right[key])) return true;
  }
  for (const key of Object.keys(right)) if (compared(key) && left[key] === undefined) return true;
  return false;
}
