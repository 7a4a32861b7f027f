import {
  errorText,
  isStatusError,
  type GroupResource,
  type GroupVersionResource,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { isReviewResource, type ResourceDefinition } from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import type { ControllerModules } from '../runtime/controller.ts';

/** Finds objects whose claim labels differ from what the current claims require. */
export interface ClaimedObjectFinder {
  /** The resource in its storage version, of the identity that is bound; undefined if the logical cluster does not serve it. */
  resourceOf(
    cluster: LogicalClusterName,
    resource: GroupResource,
  ): (GroupVersionResource & Pick<ResourceDefinition, 'bound' | 'namespaced'>) | undefined;
  mislabeled(cluster: LogicalClusterName, resource: GroupResource): AsyncIterable<ObjectReference>;
  /**
   * Calls back when an object becomes, or no longer is, one that objects of an export name, as claims ask for it. `namespace`
   * is that of the reference, also where the claimed resource has none.
   */
  onNamed(listener: (object: NamedObject) => void): () => void;
}

/** An object that others name; it may not exist. */
export interface NamedObject {
  readonly cluster: LogicalClusterName;
  readonly claimed: GroupResource;
  readonly namespace: string;
  readonly name: string;
}

export interface ObjectLabelerModules extends ControllerModules {
  readonly objects: ClaimedObjectFinder;
}

/** By then a request that was admitted before a claim changed has been stored. */
export const relabelDelayMs = 2000;
/** Errors that are kept of one pass, and shown in the condition PermissionClaimsApplied. */
export const maxErrors = 10;
/** Objects written in one pass; the rest is requeued, so that other keys and a shutdown are not delayed. */
const maxWrites = 500;
const concurrentWrites = 8;

/** The result of one pass over the objects of a resource. */
interface LabelResult {
  readonly written: number;
  /** The pass ended at {@link maxWrites}. */
  readonly isIncomplete: boolean;
  readonly errors: readonly string[];
}

/** Has mislabeled objects labeled anew by admission. */
export class ObjectLabeler {
  readonly #modules: ObjectLabelerModules;

  constructor(modules: ObjectLabelerModules) {
    this.#modules = modules;
  }

  async label(cluster: LogicalClusterName, resource: GroupResource): Promise<LabelResult> {
    const { objects } = this.#modules;
    const stored = isReviewResource(resource) ? undefined : objects.resourceOf(cluster, resource);
    const errors: string[] = [];
    let written = 0;
    let pending: Promise<void>[] = [];
    if (stored === undefined) return { written, isIncomplete: false, errors };
    for await (const reference of objects.mislabeled(cluster, resource)) {
      if (written === maxWrites) {
        await Promise.all(pending);
        return { written, isIncomplete: true, errors };
      }
      written++;
      pending.push(this.#write(stored, reference, errors));
      if (pending.length < concurrentWrites) continue;
      await Promise.all(pending);
      pending = [];
    }
    await Promise.all(pending);
    return { written, isIncomplete: false, errors };
  }

  /** Labels one object, if it exists. Returns what failed. */
  async labelOne({ cluster, claimed, namespace, name }: NamedObject): Promise<string | undefined> {
    const stored = this.#modules.objects.resourceOf(cluster, claimed);
    if (stored === undefined) return undefined;
    const errors: string[] = [];
    await this.#write(stored, { cluster, namespace: stored.namespaced ? namespace : '', name }, errors);
    return errors[0];
  }

  /** An empty patch: admission sets the labels. */
  async #write(resource: GroupVersionResource, reference: ObjectReference, errors: string[]): Promise<void> {
    try {
      await this.#modules.client.patch(resource, reference, 'application/merge-patch+json', {});
    } catch (error) {
      if (isStatusError(error, 'NotFound') || errors.length >= maxErrors) return;
      const { cluster, namespace, name } = reference;
      const { group, version, resource: plural } = resource;
      errors.push(
        `error patching "${group}/${version}, Resource=${plural}" ${cluster}|${namespace}/${name}: ${errorText(error)}`,
      );
    }
  }
}
