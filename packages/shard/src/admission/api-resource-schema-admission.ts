import type { AdmissionAttributes, AdmissionPlugin } from '@multiplane/apiserver';
import {
  type ResourceDefinition,
  apiResourceSchemaErrors,
  apiResourceSchemas,
  isLongCheck,
  type SlowChecks,
  unreadablePathWarnings,
} from '@multiplane/apis';
import { refuseAll } from './field-error-list.ts';
import { isSystemSchema } from './system-schema-checks.ts';

/**
 * Validates APIResourceSchemas like the CustomResourceDefinitions that are made of them in consumers' workspaces (kcp
 * `pkg/admission/apiresourceschema`), so that a broken schema fails for its author. Specs are immutable, so that bound APIs
 * do not change.
 */
export class ApiResourceSchemaAdmission implements AdmissionPlugin {
  readonly name = 'tenancy.kcp.io/APIResourceSchema';
  readonly #slowly: SlowChecks;
  constructor(modules: {
    /** Checks that run in a worker thread because they would block the event loop. */ readonly slowly: SlowChecks;
  }) {
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
      isLongCheck(object, oldObject) || isSystemSchema(object)
        ? await this.#slowly.definition(cluster, object, oldObject, attributes)
        : apiResourceSchemaErrors(object, oldObject);
    refuseAll(attributes, errors);
    // A schema has no status: its author learns here what is left out for consumers.
    for (const warning of unreadablePathWarnings(object, oldObject)) attributes.warn(warning);
  }
}
