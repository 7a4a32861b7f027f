import { type LogicalClusterName, statusErrors } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { type WatchCache, builtInPrefix, objectKey } from '@multiplane/storage';
import { scannedMetadata } from '../registry/entry-facts.ts';
import { type ScannedMetadata, scanMetadata } from '../registry/metadata-scanner.ts';
import { admissionForbidden } from './forbidden.ts';
import { isNamespaceKind } from './matching/request-rule.ts';
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

  concerns(definition: ResourceDefinition): boolean {
    return definition.namespaced || isNamespaceKind(definition);
  }

  admit(attributes: AdmissionAttributes): Promise<void> | undefined {
    const { operation, definition, cluster, namespace } = attributes;
    if (operation === 'DELETE') {
      if (isNamespaceKind(definition) && immortal.has(attributes.name) && !this.#modules.isClusterEnding(cluster)) {
        throw admissionForbidden(attributes, 'this namespace may not be deleted');
      }
      return undefined;
    }
    if (!definition.namespaced || namespace === '' || isAccessReview(attributes)) return undefined;

    const key = objectKey(namespacePrefix, { cluster, namespace: '', name: namespace });
    const entry = this.#modules.cache.peek(key);
    if (entry === undefined) return this.#admitByStore(attributes, key);
    refuseEnding(attributes, scannedMetadata(entry));
    return undefined;
  }

  /** The cache may be behind: only the store can say that there is none. */
  async #admitByStore(attributes: AdmissionAttributes, key: string): Promise<void> {
    const stored = await this.#modules.cache.get(key);
    if (stored === undefined) throw statusErrors.notFound({ group: '', resource: 'namespaces' }, attributes.namespace);
    refuseEnding(attributes, scanMetadata(stored.value));
  }
}

function refuseEnding(attributes: AdmissionAttributes, { deletionTimestamp }: ScannedMetadata): void {
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
