import { fieldErrors, FieldPath, type FieldError } from '@multiplane/apimachinery';
import type { AdmissionAttributes, AdmissionPlugin } from '@multiplane/apiserver';
import {
  type ResourceDefinition,
  apiConversions,
  maxConversionRules,
  VersionConversions,
  type APIConversion,
  type APIResourceSchema,
} from '@multiplane/apis';
import type { Lister } from '@multiplane/client';
import { refuseAll } from './field-error-list.ts';

/**
 * Rejects APIConversions whose rules cannot work, with field and reason: a broken rule would otherwise only show up as
 * failing reads in the consumers' workspaces. Rules for a schema that does not exist yet are not checked.
 */
export class ApiConversionAdmission implements AdmissionPlugin {
  readonly name = 'apis.kcp.io/APIConversion';
  readonly #schemas: Lister<APIResourceSchema>;
  constructor(modules: { readonly schemas: Lister<APIResourceSchema> }) {
    this.#schemas = modules.schemas;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  concerns({ group, resource }: ResourceDefinition): boolean {
    return group === apiConversions.group && resource === apiConversions.resource;
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { definition, object, cluster, name } = attributes;
    if (definition.group !== apiConversions.group || definition.resource !== apiConversions.resource) return;
    if (object === undefined) return;
    const conversions = (object as APIConversion).spec?.conversions ?? [];
    const path = FieldPath.of('spec', 'conversions');
    const rules = conversions.reduce((sum, conversion) => sum + conversion.rules.length, 0);
    if (rules > maxConversionRules) {
      refuseAll(attributes, [fieldErrors.tooMany(path, rules, maxConversionRules)]);
    }
    const schema = this.#schemas.get({ cluster, namespace: '', name: object.metadata.name ?? name });
    if (schema === undefined) return;
    const { spec } = schema as APIResourceSchema;
    const { problems } = new VersionConversions(
      conversions,
      (version) => spec?.versions.find((one) => one.name === version)?.schema,
    );
    refuseAll(
      attributes,
      problems.map(({ field, value, detail }): FieldError => fieldErrors.invalid(`spec.${field}`, value, detail)),
    );
  }
}
