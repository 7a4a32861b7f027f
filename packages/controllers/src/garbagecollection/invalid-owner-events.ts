import { createHash } from 'node:crypto';
import {
  formatTime,
  type GroupVersionResource,
  type LogicalClusterName,
  type OwnerReference,
} from '@multiplane/apimachinery';
import type { ObjectMetadataRecord } from '@multiplane/client';
import { timeSlices } from '@multiplane/component-base';
import type { ControllerModules } from '../runtime/controller.ts';
import { ignoreReasons } from '../runtime/object-writes.ts';

const events: GroupVersionResource = { group: '', version: 'v1', resource: 'events' };
const component = 'garbage-collector-controller';
/** Owners whose deletion was seen: they are not in another namespace. */
const maxDeletedOwners = 10_000;

/** An owner reference whose owner is not in the namespace of the dependent. */
export interface MissingOwner {
  readonly dependent: ObjectMetadataRecord;
  readonly owner: OwnerReference;
  /** The resource of the owner; it is namespaced. */
  readonly resource: GroupVersionResource;
}

/**
 * Reports owner references across namespaces with the event `OwnerRefInvalidNamespace` on the dependent (Kubernetes:
 * `reportInvalidNamespaceOwnerRef` in pkg/controller/garbagecollector). Such a reference does not keep the dependent, which is
 * deleted; the event tells its author why. The look-up of
 * a uid passes over all objects of one resource in the logical cluster, so it is skipped for an owner whose deletion was seen,
 * and made for one reference of a dependent.
 */
export class InvalidOwnerEvents {
  readonly #modules: ControllerModules;
  readonly #deleted = new Set<string>();

  constructor(modules: ControllerModules) {
    this.#modules = modules;
  }

  /** An object with dependents was deleted. */
  ownerDeleted(cluster: LogicalClusterName, uid: string): void {
    this.#deleted.add(`${cluster}|${uid}`);
    if (this.#deleted.size <= maxDeletedOwners) return;
    const [oldest] = this.#deleted;
    this.#deleted.delete(oldest as string);
  }

  /** Creates the event if the owner is in another namespace, or the dependent in none. Throws what the API throws. */
  async report(missing: MissingOwner): Promise<void> {
    const { dependent, owner } = missing;
    if (dependent.namespace !== '' && !(await this.#isElsewhere(missing))) return;
    const { cluster, namespace, name, uid, kind, resource } = dependent;
    const { clock, client } = this.#modules;
    const time = formatTime(new Date(clock.now()));
    const identity = `[${owner.apiVersion}/${owner.kind}, namespace: ${namespace}, name: ${owner.name}, uid: ${owner.uid}]`;
    // The same for the same reference, so that a repeated pass makes no second one.
    const suffix = createHash('sha256').update(`${uid} ${owner.uid}`).digest('hex').slice(0, 16);
    const eventNamespace = namespace === '' ? 'default' : namespace;
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `${name}.${suffix}`, namespace: eventNamespace },
      involvedObject: {
        apiVersion: resource.group === '' ? resource.version : `${resource.group}/${resource.version}`,
        kind,
        ...(namespace === '' ? {} : { namespace }),
        name,
        uid,
      },
      type: 'Warning',
      reason: 'OwnerRefInvalidNamespace',
      message: `ownerRef ${identity} does not exist in namespace ${JSON.stringify(namespace)}`,
      source: { component },
      reportingComponent: component,
      reportingInstance: '',
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    };
    await ignoreReasons(['AlreadyExists', 'NotFound', 'Forbidden'], () => client.create(events, cluster, event));
  }

  async #isElsewhere({ dependent, owner, resource }: MissingOwner): Promise<boolean> {
    const { cluster, namespace } = dependent;
    if (this.#deleted.has(`${cluster}|${owner.uid}`)) return false;
    const slices = timeSlices();
    for (const record of this.#modules.informers.metadata.list({ cluster, resource })) {
      if (record.uid === owner.uid) return record.namespace !== namespace;
      if (slices.isExceeded) await slices.yield();
    }
    return false;
  }
}
