import { deepEqual, fieldErrors, type DeepReadonly, type Json } from '@multiplane/apimachinery';
import { type AdmissionAttributes, admissionForbidden, type AdmissionPlugin } from '@multiplane/apiserver';
import {
  type ResourceDefinition,
  apiExportEndpointSlices,
  type APIExport,
  type APIExportEndpointSlice,
} from '@multiplane/apis';
import type { PathAndNameLookup } from '@multiplane/client';
import type { Authorizer } from '@multiplane/generic-server';
import { exportClusterOf, exportNameIn, mayBind, type ExportReference } from './bind-permission.ts';
import { refuseAll } from './field-error-list.ts';
import { isPrivileged } from './workspace-admission.ts';

export interface ApiExportEndpointSliceAdmissionModules {
  readonly authorizer: Authorizer;
  /** Exports of all shards. */
  readonly exports: PathAndNameLookup<APIExport>;
}

/**
 * Admits APIExportEndpointSlices (kcp `pkg/admission/apiexportendpointslice`). A slice reveals the shards with consumers of
 * an export, so its creator needs the verb `bind` on the export. Only shards may change `status.endpoints`; in kcp the owner
 * of a slice may write it, too, and redirect the provider's controllers to another server.
 */
export class ApiExportEndpointSliceAdmission implements AdmissionPlugin {
  readonly name = 'apis.kcp.io/APIExportEndpointSlice';
  readonly #modules: ApiExportEndpointSliceAdmissionModules;
  constructor(modules: ApiExportEndpointSliceAdmissionModules) {
    this.#modules = modules;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  concerns({ group, resource }: ResourceDefinition): boolean {
    return group === apiExportEndpointSlices.group && resource === apiExportEndpointSlices.resource;
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { definition, user, cluster } = attributes;
    if (definition.group !== apiExportEndpointSlices.group || definition.resource !== apiExportEndpointSlices.resource)
      return;
    const slice = attributes.object as APIExportEndpointSlice;
    const old: DeepReadonly<APIExportEndpointSlice> | undefined = attributes.oldObject;
    if (!isPrivileged(user) && !same(slice.status?.endpoints, old?.status?.endpoints))
      throw admissionForbidden(attributes, 'status.endpoints can only be changed by system privileged users');
    const reference = slice.spec?.export as ExportReference | undefined;
    if (reference === undefined || reference.name === '') {
      refuseAll(attributes, [fieldErrors.required('spec.export.name')]);
      return;
    }
    if (old !== undefined && same(old.spec?.export, slice.spec?.export)) return;
    const place = exportClusterOf(this.#modules.exports, reference, cluster);
    if (
      place === undefined ||
      !(await mayBind(this.#modules.authorizer, { user, cluster: place, name: reference.name }))
    )
      throw admissionForbidden(
        attributes,
        `unable to ${attributes.operation.toLowerCase()} APIExportEndpointSlice: no permission to bind to export ${exportNameIn(reference, cluster)}`,
      );
  }
}

const same = (a: unknown, b: unknown): boolean => deepEqual((a ?? null) as Json, (b ?? null) as Json);
