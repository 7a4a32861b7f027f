import {
  deepEqual,
  fieldErrors,
  fieldErrorText,
  FieldPath,
  isJsonObject,
  quote,
  type DeepReadonly,
  type FieldError,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { type AdmissionAttributes, admissionForbidden, type AdmissionPlugin } from '@multiplane/apiserver';
import {
  type ResourceDefinition,
  apiBindings,
  exportLabel,
  ExportLabelValues,
  type AcceptablePermissionClaim,
  type APIBinding,
  type APIExport,
} from '@multiplane/apis';
import type { PathAndNameLookup } from '@multiplane/client';
import type { Authorizer } from '@multiplane/generic-server';
import { exportClusterOf, exportNameIn, mayBind, type ExportReference } from './bind-permission.ts';
import { claimedObjectsErrors } from './claimed-objects-rules.ts';
import { refuseAll } from './field-error-list.ts';

export interface ApiBindingAdmissionModules {
  readonly authorizer: Authorizer;
  /** Exports of all shards. */
  readonly exports: PathAndNameLookup<APIExport>;
}

/**
 * Admits APIBindings (kcp `pkg/admission/apibinding/apibinding_admission.go`). The creator needs the verb `bind` on the
 * APIExport; the refusal does not reveal whether the export exists. The plugin sets a label that identifies the export, by
 * which the bindings of an export are found; clients cannot change it.
 */
export class ApiBindingAdmission implements AdmissionPlugin {
  readonly name = 'apis.kcp.io/APIBinding';
  readonly #modules: ApiBindingAdmissionModules;
  readonly #labels = new ExportLabelValues();
  constructor(modules: ApiBindingAdmissionModules) {
    this.#modules = modules;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  concerns({ group, resource }: ResourceDefinition): boolean {
    return group === apiBindings.group && resource === apiBindings.resource;
  }

  async admit(attributes: AdmissionAttributes): Promise<void> {
    if (!concerns(attributes) || attributes.subresource !== '') return;
    const binding = attributes.object as APIBinding;
    const given: unknown = binding.spec?.reference?.export;
    // Mutating admission runs before schema validation: an object of the wrong shape is left to the schema.
    if (!isJsonObject(given)) return;
    const { path, name } = given;
    const reference = { path: typeof path === 'string' ? path : '', name: typeof name === 'string' ? name : '' };
    const label = this.#label(attributes, reference);
    defaultClaimFields(binding, attributes.definition.version);
    if (binding.metadata.labels?.[exportLabel] !== label)
      binding.metadata.labels = { ...binding.metadata.labels, [exportLabel]: label };
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    if (!concerns(attributes)) return;
    const binding = attributes.object as APIBinding;
    const old: DeepReadonly<APIBinding> | undefined = attributes.oldObject;
    refuseAll(attributes, bindingErrors(binding, old, attributes.definition.version));
    const reference = binding.spec?.reference?.export as ExportReference;
    if (old !== undefined && isSameExport(old, binding)) {
      // A tenant's mutating webhooks may have changed the label after `admit`.
      this.#requireLabel(attributes, old.metadata.labels?.[exportLabel]);
      return;
    }
    if (attributes.subresource !== '') return;
    const cluster = this.#exportCluster(attributes, reference);
    const { user } = attributes;
    if (!(await mayBind(this.#modules.authorizer, { user, cluster, name: reference.name })))
      throw refusal(attributes, reference);
    this.#requireLabel(attributes, this.#labels.of(cluster, reference.name));
  }

  #requireLabel(attributes: AdmissionAttributes, expected: string | undefined): void {
    const given = attributes.object?.metadata.labels?.[exportLabel];
    // A binding stored before the label existed gets it with its next change.
    if (given === expected || expected === undefined) return;
    throw admissionForbidden(
      attributes,
      fieldErrorText(
        fieldErrors.invalid(
          FieldPath.of('metadata', 'labels').key(exportLabel),
          given ?? '',
          `must be set to ${quote(expected)}`,
        ),
      ),
    );
  }

  /** An unchanged reference keeps its label, even if the export cannot be found now. */
  #label(attributes: AdmissionAttributes, reference: ExportReference): string {
    const old: DeepReadonly<APIBinding> | undefined = attributes.oldObject;
    const before = old?.metadata.labels?.[exportLabel];
    if (before !== undefined && isSameExport(old, attributes.object as APIBinding)) return before;
    return this.#labels.of(this.#exportCluster(attributes, reference), reference.name);
  }

  #exportCluster(attributes: AdmissionAttributes, reference: ExportReference): LogicalClusterName {
    const cluster = exportClusterOf(this.#modules.exports, reference, attributes.cluster);
    if (cluster === undefined) throw refusal(attributes, reference);
    return cluster;
  }
}

const concerns = ({ definition, object }: AdmissionAttributes): boolean =>
  definition.group === apiBindings.group && definition.resource === apiBindings.resource && object !== undefined;

const isSameExport = (a: DeepReadonly<APIBinding> | undefined, b: APIBinding): boolean =>
  deepEqual(a?.spec?.reference ?? null, b.spec?.reference ?? null);

const refusal = (attributes: AdmissionAttributes, reference: ExportReference): Error =>
  admissionForbidden(
    attributes,
    `unable to ${attributes.operation.toLowerCase()} APIBinding: no permission to bind to export ${exportNameIn(reference, attributes.cluster)}`,
  );

/**
 * Sets omitted fields to their zero values, as decoding into Go structs does in kcp, so that the schema and the rules below
 * report missing fields with kcp's messages.
 */
function defaultClaimFields(binding: APIBinding, version: string): void {
  const { spec } = binding;
  const reference = spec?.reference?.export;
  if (reference !== undefined) {
    reference.name ??= '';
    if (reference.path === '') delete reference.path;
  }
  if (!Array.isArray(spec?.permissionClaims)) return;
  if (spec.permissionClaims.length === 0) delete spec.permissionClaims;
  for (const claim of (spec.permissionClaims ?? []) as (Partial<AcceptablePermissionClaim> | null)[]) {
    if (!isJsonObject(claim)) continue;
    (claim as { state?: string }).state ??= '';
    claim.resource ??= '';
    if (version === 'v1alpha1') continue;
    claim.selector ??= {};
    (claim as { verbs?: string[] | null }).verbs ??= null;
  }
}

function bindingErrors(binding: APIBinding, old: DeepReadonly<APIBinding> | undefined, version: string): FieldError[] {
  const path = FieldPath.of('spec');
  const reference = binding.spec?.reference?.export;
  const errors: FieldError[] = [];
  if (reference === undefined) errors.push(fieldErrors.required(path.child('reference', 'export')));
  else if ((reference.name ?? '') === '') errors.push(fieldErrors.required(path.child('reference', 'export', 'name')));
  if (version !== 'v1alpha1')
    for (const [index, claim] of (binding.spec?.permissionClaims ?? []).entries()) {
      const claimPath = path.child('permissionClaims').index(index);
      errors.push(...selectorErrors(claim, claimPath.child('selector')), ...claimedObjectsErrors(claim, claimPath));
    }
  const from = old?.status?.phase ?? '';
  const to = binding.status?.phase ?? '';
  if (from !== '' && to === '')
    errors.push(fieldErrors.invalid('status.phase', to, `cannot transition from ${quote(from)} to ${quote(to)}`));
  return errors;
}

function selectorErrors({ selector = {} }: AcceptablePermissionClaim, path: FieldPath): FieldError[] {
  const { matchAll = false, matchLabels = {}, matchExpressions = [] } = selector;
  const labels = Object.keys(matchLabels).length > 0;
  const expressions = matchExpressions.length > 0;
  if (!matchAll)
    return labels || expressions
      ? []
      : [fieldErrors.required(path, 'either one of matchAll, matchLabels, or matchExpressions must be set')];
  const shown = { ...(labels ? { matchLabels } : {}), ...(expressions ? { matchExpressions } : {}), matchAll };
  const wrong = (field: string): FieldError =>
    fieldErrors.invalid(path.child(field), shown, `${field} cannot be used with matchAll`);
  return [...(labels ? [wrong('matchLabels')] : []), ...(expressions ? [wrong('matchExpressions')] : [])];
}
