import { fieldErrors, isJsonObject, type FieldError, type KubeObject } from '@multiplane/apimachinery';
import { builtInKind } from '../built-in-kind.ts';
import { defaultStrategy } from '../default-strategy.ts';
import { at, numberAt, textAt } from '../fields.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { column, nameAgeTable } from '../tables/columns.ts';

/** Durations are positive; the fields of coordinated elections are dropped. PUT creates. */
export function leases(): ResourceDefinition {
  return builtInKind({
    group: 'coordination.k8s.io',
    version: 'v1',
    kind: 'Lease',
    resource: 'leases',
    namespaced: true,
    component: 'io.k8s.api.coordination.v1.Lease',
    strategy: defaultStrategy({
      metadataChecks: { standardFinalizers: false, onUpdate: ['update'] },
      allowCreateOnUpdate: true,
      allowUnconditionalUpdate: false,
      prepareForCreate: (_context, object) => dropCoordination(object),
      validate: (_context, object) => validateSpec(object),
      prepareForUpdate: (_context, object) => dropCoordination(object),
      validateUpdate: (_context, object) => validateSpec(object),
    }),
    table: nameAgeTable([column('Holder', { description: 'Who holds the lease.' })], (object) => [
      textAt(object, 'spec', 'holderIdentity'),
    ]),
  });
}

function dropCoordination(object: KubeObject): void {
  const spec = at(object, 'spec');
  if (!isJsonObject(spec)) return;
  delete spec['strategy'];
  delete spec['preferredHolder'];
}

function validateSpec(object: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  const duration = numberAt(object, 'spec', 'leaseDurationSeconds');
  if (duration !== undefined && duration <= 0) {
    errors.push(fieldErrors.invalid('spec.leaseDurationSeconds', duration, 'must be greater than 0'));
  }
  const transitions = numberAt(object, 'spec', 'leaseTransitions');
  if (transitions !== undefined && transitions < 0) {
    errors.push(fieldErrors.invalid('spec.leaseTransitions', transitions, 'must be greater than or equal to 0'));
  }
  return errors;
}
