import type { ResourceDefinition } from '@multiplane/apis';
import { admissionForbidden } from './forbidden.ts';
import type { AdmissionAttributes, AdmissionPlugin } from './plugin.ts';

/**
 * Rejects creates of custom resources whose definition is being deleted: they would be lost, or keep the definition
 * from being deleted.
 */
export class TerminatingDefinition implements AdmissionPlugin {
  readonly name = 'TerminatingDefinition';

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE';
  }

  concerns({ terminating }: ResourceDefinition): boolean {
    return terminating === true;
  }

  async admit(attributes: AdmissionAttributes): Promise<void> {
    if (attributes.definition.terminating !== true) return;
    throw admissionForbidden(attributes, 'create not allowed while custom resource definition is terminating');
  }
}
