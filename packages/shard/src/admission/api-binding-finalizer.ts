import { mastersGroup } from '@multiplane/apimachinery';
import { admissionForbidden, type AdmissionAttributes, type AdmissionPlugin } from '@multiplane/apiserver';
import { type ResourceDefinition, apiBindingFinalizer, apiBindings } from '@multiplane/apis';

/**
 * Adds and protects the finalizer that keeps an APIBinding until the objects of its APIs are deleted (kcp
 * `pkg/admission/apibindingfinalizer`). Without the binding no client could reach these objects, and the next binding to the
 * export would expose them again.
 */
export class ApiBindingFinalizer implements AdmissionPlugin {
  readonly name = 'apis.kcp.io/APIBindingDeletionFinalizer';

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  concerns({ group, resource }: ResourceDefinition): boolean {
    return group === apiBindings.group && resource === apiBindings.resource;
  }

  async admit(attributes: AdmissionAttributes): Promise<void> {
    const { object, subresource, oldObject } = attributes;
    if (!concerns(attributes) || object === undefined || subresource !== '') return;
    const isDeleting = (oldObject ?? object).metadata.deletionTimestamp !== undefined;
    const finalizers = object.metadata.finalizers ?? [];
    if (!isDeleting && !finalizers.includes(apiBindingFinalizer))
      object.metadata.finalizers = [...finalizers, apiBindingFinalizer];
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { object, oldObject, user } = attributes;
    if (!concerns(attributes) || object === undefined) return;
    if ((object.metadata.finalizers ?? []).includes(apiBindingFinalizer)) return;
    if (object.metadata.deletionTimestamp === undefined)
      throw admissionForbidden(attributes, `finalizer ${apiBindingFinalizer} is required`);
    const had = (oldObject?.metadata.finalizers ?? []).includes(apiBindingFinalizer);
    if (had && !user.groups.includes(mastersGroup))
      throw admissionForbidden(attributes, `removing the finalizer ${apiBindingFinalizer} is forbidden`);
  }
}

const concerns = ({ definition }: AdmissionAttributes): boolean =>
  definition.group === apiBindings.group && definition.resource === apiBindings.resource;
