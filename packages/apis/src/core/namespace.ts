import {
  deepCopy,
  fieldErrors,
  FieldPath,
  validateQualifiedName,
  type DeepReadonly,
  type FieldError,
  type KubeObject,
} from '@multiplane/apimachinery';
import { allVerbs, builtInKind } from '../built-in-kind.ts';
import { defaultStrategy, keepField, statusSubresource } from '../default-strategy.ts';
import { listAt, objectAt, textAt, textsAt } from '../fields.ts';
import { labelName } from '../name-rules.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { column, nameAgeTable } from '../tables/columns.ts';

export const namespaceNameLabel = 'kubernetes.io/metadata.name';
/** The finalizer in `spec.finalizers` that stands for the content of a namespace. */
export const namespaceContentFinalizer = 'kubernetes';

const standardFinalizers = new Set([namespaceContentFinalizer, 'orphan', 'foregroundDeletion']);

/** `spec.finalizers` changes through `finalize` alone, the phase through `status`. */
export function namespaces(): ResourceDefinition {
  const base = defaultStrategy({
    metadataChecks: { standardFinalizers: true, onUpdate: ['update'] },
    validateName: labelName,
    returnsDeletedObject: true,
    canonicalize: forceNameLabel,
    beginDeletion: (_context, object) => {
      object['status'] = { ...objectAt(object, 'status'), phase: 'Terminating' };
    },
    isHeld: (object) => listAt(object, 'spec', 'finalizers').length > 0,
  });
  return builtInKind({
    group: '',
    version: 'v1',
    kind: 'Namespace',
    resource: 'namespaces',
    shortNames: ['ns'],
    namespaced: false,
    verbs: allVerbs.filter((verb) => verb !== 'deletecollection'),
    component: 'io.k8s.api.core.v1.Namespace',
    // A namespace whose name the server will make up gets its label when it is brought into its final form.
    defaults: forceNameLabel,
    strategy: {
      ...base,
      prepareForCreate: (_context, object) => {
        object['status'] = { phase: 'Active' };
        const finalizers = textsAt(object, 'spec', 'finalizers');
        if (!finalizers.includes(namespaceContentFinalizer)) {
          object['spec'] = { ...objectAt(object, 'spec'), finalizers: [...finalizers, namespaceContentFinalizer] };
        }
      },
      validate: (_context, object) => finalizerErrors(object),
      prepareForUpdate: (_context, object, old) => {
        const finalizers = listAt(old, 'spec', 'finalizers');
        object['spec'] = { ...objectAt(object, 'spec'), finalizers: deepCopy(finalizers as []) };
        if (finalizers.length === 0) delete objectAt(object, 'spec')?.['finalizers'];
        keepField(object, old, 'status');
      },
      validateUpdate: () => [],
    },
    subresources: {
      finalize: {
        type: 'object',
        verbs: ['update'],
        strategy: {
          ...base,
          prepareForUpdate: (_context, object, old) => keepField(object, old, 'status'),
          validateUpdate: (_context, object) =>
            textsAt(object, 'spec', 'finalizers').flatMap((name, index) =>
              finalizerNameErrors(FieldPath.of('spec', 'finalizers').index(index), name),
            ),
        },
      },
      status: statusSubresource(base, {
        prepareForUpdate: (_context, object, old) => keepField(object, old, 'spec'),
        validateUpdate: (_context, object) => phaseErrors(object),
      }),
    },
    fieldSelectors: {
      'status.phase': (object) => textAt(object, 'status', 'phase'),
    },
    table: nameAgeTable([column('Status', { description: 'Active or Terminating.' })], (object) => [
      textAt(object, 'status', 'phase'),
    ]),
  });
}

const finalizerErrors = (object: KubeObject): FieldError[] =>
  textsAt(object, 'spec', 'finalizers').flatMap((name) =>
    finalizerNameErrors(FieldPath.of('spec', 'finalizers'), name),
  );

/** The label with the name can be neither changed nor removed. */
function forceNameLabel(object: KubeObject): void {
  const { name } = object.metadata;
  if (name === undefined || name === '') return;
  const labels = (object.metadata.labels ??= {});
  labels[namespaceNameLabel] = name;
}

function finalizerNameErrors(path: FieldPath, name: string): FieldError[] {
  const errors = validateQualifiedName(name).map((message) => fieldErrors.invalid(path, name, message));
  if (!name.includes('/') && !standardFinalizers.has(name)) {
    errors.push(fieldErrors.invalid(path, name, 'name is neither a standard finalizer name nor is it fully qualified'));
  }
  return errors;
}

function phaseErrors(object: DeepReadonly<KubeObject>): FieldError[] {
  const phase = textAt(object, 'status', 'phase');
  const deleting = object.metadata.deletionTimestamp !== undefined;
  const only = deleting ? 'Terminating' : 'Active';
  if (phase === only) return [];
  const when = deleting ? 'is not empty' : 'is empty';
  return [fieldErrors.invalid('status.Phase', phase, `may only be '${only}' if \`deletionTimestamp\` ${when}`)];
}
