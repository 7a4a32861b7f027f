import { isConditionTrue, setCondition, type Condition, type DeepReadonly } from '@multiplane/apimachinery';
import { apiApprovedAnnotation, degradedCondition, hasUnusableAuthorities, unreadablePaths } from '@multiplane/apis';
import { decideNames, type CustomResourceDefinition, type TakenNames } from './crd-names.ts';

type Status = NonNullable<CustomResourceDefinition['status']>;

const established = {
  type: 'Established',
  status: 'True',
  reason: 'InitialNamesAccepted',
  message: 'the initial names have been accepted',
} as const;
const invalidCABundle = {
  type: 'Established',
  status: 'False',
  reason: 'InvalidCABundle',
  message: 'The conversion webhook CABundle is invalid',
} as const;

/**
 * The status of a definition that is not being deleted: accepted names, Established, API approval, and what is not served of it.
 * `faults`: why parts of it could not be evaluated.
 */
export function definitionStatus(
  crd: DeepReadonly<CustomResourceDefinition>,
  taken: TakenNames,
  now: Date,
  faults: readonly string[] = [],
): DeepReadonly<Status> {
  const { acceptedNames, conflict } = decideNames(crd, taken);
  let conditions = setCondition(
    crd.status?.conditions,
    conflict === undefined
      ? { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' }
      : { type: 'NamesAccepted', status: 'False', ...conflict },
    now,
  );
  if (conflict === undefined) {
    // Established is permanent. Before, an unusable CA bundle of the conversion webhook prevents it.
    const usable = isConditionTrue(conditions, 'Established') || !hasUnusableAuthorities(crd.spec.conversion);
    conditions = setCondition(conditions, usable ? established : invalidCABundle, now);
  } else if (!isConditionTrue(conditions, 'Established')) {
    conditions = setCondition(
      conditions,
      { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' },
      now,
    );
  }
  conditions = degraded(crd, approvalPolicy(crd, conditions, now), now, faults);
  return { ...crd.status, conditions, acceptedNames };
}

function degraded(
  crd: DeepReadonly<CustomResourceDefinition>,
  conditions: readonly Condition[],
  now: Date,
  faults: readonly string[] = [],
): readonly Condition[] {
  const paths = unreadablePaths(crd);
  if (paths.length + faults.length === 0) return conditions.filter(({ type }) => type !== degradedCondition);
  const reason = faults.length > 0 ? 'EvaluationFailed' : 'InvalidJSONPath';
  const message = [...faults, ...paths].join('; ');
  return setCondition(conditions, { type: degradedCondition, status: 'True', reason, message }, now);
}

/** Groups under k8s.io and kubernetes.io need an approval annotation, which the condition reports. */
function approvalPolicy(
  crd: DeepReadonly<CustomResourceDefinition>,
  conditions: readonly Condition[],
  now: Date,
): readonly Condition[] {
  const { group } = crd.spec;
  if (
    !(group === 'k8s.io' || group === 'kubernetes.io' || group.endsWith('.k8s.io') || group.endsWith('.kubernetes.io'))
  )
    return conditions;
  const value = crd.metadata.annotations?.[apiApprovedAnnotation] ?? '';
  const type = 'KubernetesAPIApprovalPolicyConformant';
  if (value === '') {
    return setCondition(
      conditions,
      {
        type,
        status: 'False',
        reason: 'MissingAnnotation',
        message: `protected groups must have approval annotation "${apiApprovedAnnotation}", see https://github.com/kubernetes/enhancements/pull/1111`,
      },
      now,
    );
  }
  if (value.startsWith('unapproved'))
    return setCondition(
      conditions,
      { type, status: 'False', reason: 'UnapprovedAnnotation', message: `not approved: "${value}"` },
      now,
    );
  if (!URL.canParse(value)) {
    return setCondition(
      conditions,
      {
        type,
        status: 'False',
        reason: 'InvalidAnnotation',
        message: `protected groups must have approval annotation "${apiApprovedAnnotation}" with either a URL or a reason starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111`,
      },
      now,
    );
  }
  return setCondition(
    conditions,
    { type, status: 'True', reason: 'ApprovedAnnotation', message: `approved in ${value}` },
    now,
  );
}
