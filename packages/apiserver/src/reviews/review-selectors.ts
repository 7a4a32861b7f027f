import {
  FieldSelector,
  LabelSelector,
  SelectorParseError,
  labelSelectorFromObject,
  parseFieldSelector,
  parseLabelSelector,
  type FieldRequirement,
  type Json,
} from '@multiplane/apimachinery';

/** `fieldSelector` or `labelSelector` of the resource attributes of an access review. */
export interface ReviewSelector {
  readonly rawSelector?: string;
  readonly requirements?: readonly {
    readonly key?: string;
    readonly operator?: string;
    readonly values?: readonly string[];
  }[];
}

interface Understood {
  /** Undefined: the check is about all objects. */
  readonly selector: string | undefined;
  /** The error of the evaluation if a part of the selector is not understood. */
  readonly problem: string | undefined;
}

/**
 * The selector that is authorized. What is not understood is left out: requirements are joined by AND, so the check is
 * about more objects than asked for (Kubernetes: pkg/registry/authorization/util).
 */
export function understoodSelector(kind: 'fieldSelector' | 'labelSelector', given: ReviewSelector = {}): Understood {
  const { rawSelector = '', requirements = [] } = given;
  const texts: string[] = [];
  let failures = 0;
  const attempt = (read: () => string): void => {
    try {
      const text = read();
      if (text !== '') texts.push(text);
    } catch (error) {
      if (!(error instanceof SelectorParseError)) throw error;
      failures++;
    }
  };
  const isField = kind === 'fieldSelector';
  if (requirements.length === 0)
    attempt(() => (isField ? parseFieldSelector(rawSelector) : parseLabelSelector(rawSelector)).toString());
  for (const requirement of requirements)
    attempt(() =>
      isField
        ? new FieldSelector([fieldRequirement(requirement)]).toString()
        : new LabelSelector(
            labelSelectorFromObject({ matchExpressions: [{ ...requirement } as Record<string, Json>] }).requirements,
          ).toString(),
    );
  const ignored = texts.length > 0 ? 'partially ignored' : 'ignored';
  return {
    selector: texts.length === 0 ? undefined : texts.join(','),
    problem: failures === 0 ? undefined : `spec.resourceAttributes.${kind} ${ignored} due to parse error`,
  };
}

/** Field selectors only compare with one value. */
function fieldRequirement({
  key = '',
  operator,
  values = [],
}: NonNullable<ReviewSelector['requirements']>[number]): FieldRequirement {
  const [value, ...others] = values;
  if (value === undefined || others.length > 0 || (operator !== 'In' && operator !== 'NotIn'))
    throw new SelectorParseError(`the field selector operator ${operator} needs one value`);
  return { field: key, operator: operator === 'In' ? '=' : '!=', value };
}
