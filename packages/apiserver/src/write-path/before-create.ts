import {
  type FieldError,
  type KubeObject,
  generateName,
  validateObjectMetaIncrementally,
} from '@multiplane/apimachinery';
import type { Strategy, StrategyContext } from '@multiplane/apis';
import type { ObjectStoreModules } from '../registry/store/object-store-modules.ts';
import { checkNamespace } from './decoding/object-identity.ts';
import { checkKind, unsetCluster } from './object-metadata.ts';
import type { WriteRequest } from './write-request.ts';

/**
 * Sets what the server decides about a new object, then runs the strategy's hook; in the order of `rest.BeforeCreate` of
 * Kubernetes. In place. Returns the errors in metadata; throws for another kind.
 */
export async function beforeCreate(
  modules: Pick<ObjectStoreModules, 'newUid' | 'times' | 'random'>,
  request: WriteRequest,
  strategy: Strategy,
  context: StrategyContext,
  object: KubeObject,
): Promise<FieldError[]> {
  const { definition, work } = request;
  await work.pause();
  const { metadata } = object;
  const keepsIdentity = strategy.keepsIdentity?.(object) === true;
  if (!keepsIdentity || (metadata.uid ?? '') === '') metadata.uid = modules.newUid();
  if (!keepsIdentity || (metadata.creationTimestamp ?? '') === '') metadata.creationTimestamp = modules.times.now();
  // Admission may have changed it.
  checkNamespace(request, object);
  if ((metadata.name ?? '') === '' && (metadata.generateName ?? '') !== '') {
    metadata.name = generateName(metadata.generateName as string, modules.random);
  }
  unsetCluster(metadata);
  if (strategy.managesGeneration) metadata.generation = 1;

  checkKind(definition, object);
  strategy.prepareForCreate(context, object);
  const validation = validateObjectMetaIncrementally(metadata, {
    namespaced: definition.namespaced,
    validateName: (name) => strategy.validateName(name),
    standardFinalizers: strategy.metadataChecks.standardFinalizers,
  });
  return work.run(validation);
}
