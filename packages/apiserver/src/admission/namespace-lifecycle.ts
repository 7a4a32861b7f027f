import { type LogicalClusterName, statusErrors } from '@multiplane/apimachinery';
import { type WatchCache, builtInPrefix, objectKey } from '@multiplane/storage';
import { scannedMetadata } from '../registry/entry-facts.ts';
import { scanMetadata } from '../registry/metadata-scanner.ts';
import { admissionForbidden } from './forbidden.ts';
import type { AdmissionAttributes, AdmissionPlugin } from './plugin.ts';

const namespacePrefix = builtInPrefix('', 'namespaces');
/** Namespaces that every logical cluster keeps (K6.2). */
const immortal = new Set(['default', 'kube-system', 'kube-public']);

export interface NamespaceLifecycleModules {
  readonly cache: WatchCache;
  /** True for a logical cluster that is being deleted: then nothing in it is immortal (C6.2). */
  readonly isClusterEnding: (cluster: LogicalClusterName) => boolean;
}

/**
 * Nothing is created or changed in a namespace that does not exist, nothing is created in one that is ending, and the
 * system's namespaces stay (K6.2, with kcp's exception for logical clusters that are deleted as a whole).
 */
export class NamespaceLifecycle implements AdmissionPlugin {
  readonly name = 'NamespaceLifecycle';
  readonly #modules: NamespaceLifecycleModules;

  constructor(_options: Record<string, never>, modules: NamespaceLifecycleModules) {
    this.#modules = modules;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation !== 'CONNECT';
  }

  async admit(attributes: AdmissionAttributes): Promise<void> {
    const { operation, definition, cluster, namespace } = attributes;
    if (operation === 'DELETE') {
      if (isNamespace(attributes) && immortal.has(attributes.name) && !this.#modules.isClusterEnding(cluster)) {
        throw admissionForbidden(attributes, 'this namespace may not be deleted');
      }
      return;
    }
    if (!definition.namespaced || namespace === '' || isAccessReview(attributes)) return;

    const { cache } = this.#modules;
    const key = objectKey(namespacePrefix, { cluster, namespace: '', name: namespace });
    const entry = cache.peek(key);
    let metadata;
    if (entry !== undefined) {
      metadata = scannedMetadata(entry);
    } else {
      // The cache may be behind: only the store can say that there is none.
      const stored = await cache.get(key);
      if (stored === undefined) throw statusErrors.notFound({ group: '', resource: 'namespaces' }, namespace);
      metadata = scanMetadata(stored.value);
    }
    if (operation === 'CREATE' && metadata.deletionTimestamp !== undefined) {
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
  }
}

function isNamespace({ definition }: AdmissionAttributes): boolean {
  return definition.group === '' && definition.resource === 'namespaces';
}

function isAccessReview({ definition }: AdmissionAttributes): boolean {
  return definition.group === 'authorization.k8s.io' && definition.resource === 'localsubjectaccessreviews';
}
