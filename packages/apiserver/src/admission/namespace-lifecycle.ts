import { type LogicalClusterName, statusErrors } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { type WatchCache, builtInPrefix, objectKey } from '@multiplane/storage';
import { scannedMetadata } from '../registry/store/entry-metadata.ts';
import { type ScannedMetadata, scanMetadata } from '../registry/codec/metadata-scanner.ts';
import { admissionForbidden } from './forbidden.ts';
import { isNamespaceKind } from './matching/request-rule.ts';
import type { AdmissionAttributes, AdmissionPlugin } from './plugin.ts';

const namespacePrefix = builtInPrefix('', 'namespaces');
/** Namespaces that cannot be deleted. */
const undeletable = new Set(['default', 'kube-system', 'kube-public']);

export interface NamespaceLifecycleModules {
  readonly cache: WatchCache;
  /** Whether a logical cluster is being deleted; then its namespaces can be deleted. */
  readonly isClusterEnding: (cluster: LogicalClusterName) => boolean;
}

/**
 * Rejects writes to namespaces that do not exist, creation in terminating ones, and the deletion of system namespaces,
 * except while the whole logical cluster is deleted (as kcp does).
 */
export class NamespaceLifecycle implements AdmissionPlugin {
  readonly name = 'NamespaceLifecycle';
  readonly #modules: NamespaceLifecycleModules;

  constructor(modules: NamespaceLifecycleModules) {
    this.#modules = modules;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation !== 'CONNECT';
  }

  concerns(definition: ResourceDefinition): boolean {
    return definition.namespaced || isNamespaceKind(definition);
  }

  admit(attributes: AdmissionAttributes): Promise<void> | undefined {
    const { operation, definition, cluster, namespace } = attributes;
    if (operation === 'DELETE') {
      if (isNamespaceKind(definition) && undeletable.has(attributes.name) && !this.#modules.isClusterEnding(cluster)) {
        throw admissionForbidden(attributes, 'this namespace may not be deleted');
      }
      return undefined;
    }
    if (!definition.namespaced || namespace === '' || isAccessReview(attributes)) return undefined;

    const key = objectKey(namespacePrefix, { cluster, namespace: '', name: namespace });
    const entry = this.#modules.cache.peek(key);
    if (entry === undefined) return this.#admitFromStore(attributes, key);
    rejectTerminating(attributes, scannedMetadata(entry));
    return undefined;
  }

  /** The cache may lag behind, so the namespace is read from the store before it is reported as missing. */
  async #admitFromStore(attributes: AdmissionAttributes, key: string): Promise<void> {
    const stored = await this.#modules.cache.get(key);
    if (stored === undefined) throw statusErrors.notFound({ group: '', resource: 'namespaces' }, attributes.namespace);
    rejectTerminating(attributes, scanMetadata(stored.value));
  }
}

function rejectTerminating(attributes: AdmissionAttributes, { deletionTimestamp }: ScannedMetadata): void {
  const { operation, namespace } = attributes;
  if (operation !== 'CREATE' || deletionTimestamp === undefined) return;
  throw admissionForbidden(
    attributes,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${namespace} is being terminated`,
        field: 'metadata.namespace',
      },
    ],
  );
}

function isAccessReview({ definition }: AdmissionAttributes): boolean {
  return definition.group === 'authorization.k8s.io' && definition.resource === 'localsubjectaccessreviews';
}
