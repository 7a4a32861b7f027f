import { quote } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { admissionForbidden, type AdmissionAttributes, type AdmissionPlugin } from '@multiplane/apiserver';
import { workspaceTypes } from '@multiplane/controllers';

const names = new Set(['any', 'system']);

/** Reserves WorkspaceType names that have a meaning of their own in references (kcp `pkg/admission/reservednames`). */
export class ReservedNames implements AdmissionPlugin {
  readonly name = 'apis.kcp.io/ReservedNames';

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE';
  }

  concerns({ group, resource }: ResourceDefinition): boolean {
    return group === workspaceTypes.group && resource === workspaceTypes.resource;
  }

  /** In the mutating stage, before schema validation, so that a reserved name is reported as reserved. */
  async admit(attributes: AdmissionAttributes): Promise<void> {
    const { definition, object } = attributes;
    if (definition.group !== workspaceTypes.group || definition.resource !== workspaceTypes.resource) return;
    const name = object?.metadata.name ?? '';
    if (names.has(name))
      throw admissionForbidden(attributes, `metadata.name: Invalid value: ${quote(name)}: name is reserved`);
  }
}
