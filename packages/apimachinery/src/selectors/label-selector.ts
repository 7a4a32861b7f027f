import { LRUCache } from 'lru-cache';
import { compareBytewise, encodeJson } from '../json/json-codec.ts';
import { fieldErrors, fieldErrorText, type FieldError, type FieldPath } from '../validation/field-error.ts';
import { validateLabelValue, validateQualifiedName } from '../validation/names.ts';
import { validateLabels } from '../validation/object-meta-validation.ts';
import { isJsonObject, type Json } from '../json/json.ts';
import { parseLabelRequirements } from './label-selector-parser.ts';
import {
  requirementMatches,
  requirementText,
  validateLabelRequirement,
  type LabelOperator,
  type LabelRequirement,
  type Labels,
} from './label-requirement.ts';
import { SelectorParseError } from './selector-parse-error.ts';

const noLabels: Labels = {};
const manyValues = 8;

/** A conjunction of requirements on labels. Immutable. */
export class LabelSelector {
  /** Sorted by key. */
  readonly requirements: readonly LabelRequirement[];
  /** Values of requirements that have many, at the index of the requirement. */
  readonly #sets: readonly (ReadonlySet<string> | undefined)[];
  /** Matches no object at all, whatever the requirements (a null metav1.LabelSelector). */
  readonly #nothing: boolean;

  constructor(requirements: readonly LabelRequirement[], nothing = false) {
    this.requirements = [...requirements].sort((a, b) => compareBytewise(a.key, b.key));
    this.#nothing = nothing;
    this.#sets = this.requirements.map(({ values }) => (values.length > manyValues ? new Set(values) : undefined));
  }

  /** True when every object matches. */
  get empty(): boolean {
    return this.requirements.length === 0 && !this.#nothing;
  }

  matches(labels: Labels | undefined): boolean {
    if (this.#nothing) return false;
    for (let index = 0; index < this.requirements.length; index++) {
      const requirement = this.requirements[index] as LabelRequirement;
      if (!requirementMatches(requirement, labels ?? noLabels, this.#sets[index])) return false;
    }
    return true;
  }

  /** The only value that a label may have; undefined when several are allowed. */
  exactValue(key: string): string | undefined {
    for (const { key: name, operator, values } of this.requirements) {
      if (name === key && values.length === 1 && (operator === '=' || operator === '==' || operator === 'in'))
        return values[0];
    }
    return undefined;
  }

  toString(): string {
    return this.requirements.map(requirementText).join(',');
  }
}

/** The selector of no requirement. */
export const selectEverything = new LabelSelector([]);
/** The selector of a null metav1.LabelSelector. */
export const selectNothing = new LabelSelector([], true);

/** The same selectors come again and again, from informers and controllers. */
const parsed = new LRUCache<string, LabelSelector>({
  max: 2_000,
  maxSize: 1_000_000,
  sizeCalculation: (_selector, text) => text.length,
});

/** Parses a `labelSelector`. The empty text selects everything. Throws {@link SelectorParseError} with the texts of `labels.Parse`. */
export function parseLabelSelector(text: string): LabelSelector {
  if (text === '') return selectEverything;
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const selector = new LabelSelector(parseLabelRequirements(text));
  parsed.set(text, selector);
  return selector;
}

/**
 * The selector that a metav1.LabelSelector in an object stands for: undefined or null selects nothing, `{}` everything.
 * Throws {@link SelectorParseError}; errors with paths come from {@link validateLabelSelectorObject}.
 */
export function labelSelectorFromObject(selector: Json | undefined): LabelSelector {
  if (selector === undefined || selector === null) return selectNothing;
  const { matchLabels, matchExpressions } = isJsonObject(selector) ? selector : {};
  const requirements: LabelRequirement[] = [];
  if (isJsonObject(matchLabels)) {
    for (const [key, value] of Object.entries(matchLabels)) {
      requirements.push({ key, operator: '=', values: [typeof value === 'string' ? value : encodeJson(value)] });
    }
  }
  if (Array.isArray(matchExpressions))
    for (const expression of matchExpressions) requirements.push(requirementOf(expression));
  for (const requirement of requirements) {
    const errors = validateLabelRequirement(requirement).map(fieldErrorText);
    if (errors.length > 0) throw new SelectorParseError(errors.length === 1 ? errors[0] : `[${errors.join(', ')}]`);
  }
  return requirements.length === 0 ? selectEverything : new LabelSelector(requirements);
}

const objectOperators: Readonly<Record<string, LabelOperator>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
};
const operatorOf = (text: Json | undefined): LabelOperator | undefined =>
  typeof text === 'string' && Object.hasOwn(objectOperators, text) ? objectOperators[text] : undefined;
const stringsOf = (list: Json | undefined): string[] =>
  Array.isArray(list) ? list.filter((value) => typeof value === 'string') : [];

function requirementOf(expression: Json): LabelRequirement {
  const { key, operator: text, values } = isJsonObject(expression) ? expression : {};
  const operator = operatorOf(text);
  if (operator === undefined)
    throw new SelectorParseError(`${encodeJson(text ?? '')} is not a valid label selector operator`);
  return {
    key: typeof key === 'string' ? key : '',
    operator,
    values: [...new Set(stringsOf(values))].sort(compareBytewise),
  };
}

/** Validates a metav1.LabelSelector at `path`; returns field errors. */
export function validateLabelSelectorObject(selector: Json | undefined, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const { matchLabels, matchExpressions } = isJsonObject(selector) ? selector : {};
  if (isJsonObject(matchLabels)) {
    errors.push(...validateLabels(matchLabels as Record<string, string>, path.child('matchLabels')));
  }
  if (!Array.isArray(matchExpressions)) return errors;
  matchExpressions.forEach((expression, index) => {
    const at = path.child('matchExpressions').index(index);
    const { key = '', operator = '', values } = isJsonObject(expression) ? expression : {};
    const strings = stringsOf(values);
    switch (operatorOf(operator)) {
      case 'in':
      case 'notin':
        if (strings.length === 0) {
          errors.push(fieldErrors.required(at.child('values'), "must be specified when `operator` is 'In' or 'NotIn'"));
        }
        break;
      case undefined:
        errors.push(fieldErrors.invalid(at.child('operator'), operator, 'not a valid selector operator'));
        break;
      default:
        if (strings.length > 0) {
          const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
          errors.push(fieldErrors.forbidden(at.child('values'), detail));
        }
    }
    for (const message of validateQualifiedName(typeof key === 'string' ? key : '')) {
      errors.push(fieldErrors.invalid(at.child('key'), key, message));
    }
    strings.forEach((value, position) => {
      for (const message of validateLabelValue(value)) {
        errors.push(fieldErrors.invalid(at.child('values').index(position), value, message));
      }
    });
  });
  return errors;
}
