import type { AdmissionAttributes, AdmissionPlugin } from '@multiplane/apiserver';
import {
  type ResourceDefinition,
  apiResourceSchemaErrors,
  apiResourceSchemas,
  isLongCheck,
  type SlowChecks,
} from '@multiplane/apis';
import { refuseAll } from './field-error-list.ts';
import { isOwnSchema } from './own-schemas.ts';

/**
 * APIResourceSchemas (C6.3) are checked as what will be made of them in every consumer's workspace: definitions. What is
 * refused here nobody has to find out about there. They never change, so that what is bound stays what it was.
 */
export class ApiResourceSchemaAdmission implements AdmissionPlugin {
  readonly name = 'tenancy.kcp.io/APIResourceSchema';
  readonly #slowly: SlowChecks;
  constructor(modules: { /** Checks that would hold the event loop. */ readonly slowly: SlowChecks }) {
    this.#slowly = modules.slowly;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  concerns({ group, resource }: ResourceDefinition): boolean {
    return group === apiResourceSchemas.group && resource === apiResourceSchemas.resource;
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { definition, object, oldObject, cluster } = attributes;
    if (definition.group !== apiResourceSchemas.group || definition.resource !== apiResourceSchemas.resource) return;
    if (object === undefined) return;
    const errors =
      isLongCheck(object, oldObject) || isOwnSchema(object)
        ? await this.#slowly.definition(cluster, object, oldObject)
        : apiResourceSchemaErrors(object, oldObject);
    refuseAll(attributes, errors);
  }
}
