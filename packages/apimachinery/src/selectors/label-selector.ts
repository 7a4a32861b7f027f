import { LRUCache } from 'lru-cache';
import { compareBytewise, encodeJson } from '../json-codec.ts';
import { fieldErrorText, FieldPath, type FieldError } from '../field-error.ts';
import { isJsonObject, type Json } from '../json.ts';
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

/** A conjunction of requirements on labels. Immutable. */
export class LabelSelector {
  /** Sorted by key. */
  readonly requirements: readonly LabelRequirement[];
  /** Matches no object at all, whatever the requirements (a null metav1.LabelSelector). */
  readonly #nothing: boolean;

  constructor(requirements: readonly LabelRequirement[], nothing = false) {
    this.requirements = [...requirements].sort((a, b) => compareBytewise(a.key, b.key));
    this.#nothing = nothing;
  }

  /** True when every object matches. */
  get empty(): boolean {
    return this.requirements.length === 0 && !this.#nothing;
  }

  matches(labels: Labels | undefined): boolean {
    if (this.#nothing) return false;
    for (const requirement of this.requirements) {
      if (!requirementMatches(requirement, labels ?? noLabels)) return false;
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

/** Parses a `labelSelector`. The empty text selects everything. Throws {@link SelectorParseError} with K3.6's texts. */
export function parseLabelSelector(text: string): LabelSelector {
  if (text === '') return selectEverything;
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const selector = new LabelSelector(parseLabelRequirements(text));
  parsed.set(text, selector);
  return selector;
}

const objectOperators = { In: 'in', NotIn: 'notin', Exists: 'exists', DoesNotExist: '!' } as const satisfies Record<
  string,
  LabelOperator
>;

/**
 * The selector that a metav1.LabelSelector in an object stands for: undefined or null selects nothing, `{}` everything.
 * Throws {@link SelectorParseError}; use {@link validateLabelSelectorObject} for errors with paths.
 */
export function labelSelectorFromObject(selector: Json | undefined): LabelSelector {
  if (selector === undefined || selector === null) return selectNothing;
  const requirements: LabelRequirement[] = [];
  const errors = collect(selector, FieldPath.root(), requirements);
  const [first] = errors;
  if (first !== undefined)
    throw new SelectorParseError(
      errors.length === 1 ? fieldErrorText(first) : `[${errors.map(fieldErrorText).join(', ')}]`,
    );
  return requirements.length === 0 ? selectEverything : new LabelSelector(requirements);
}

/** What is wrong with a metav1.LabelSelector at `path`. */
export function validateLabelSelectorObject(selector: Json | undefined, path: FieldPath): FieldError[] {
  return selector === undefined || selector === null ? [] : collect(selector, path, []);
}

function collect(selector: Json, path: FieldPath, requirements: LabelRequirement[]): FieldError[] {
  const errors: FieldError[] = [];
  const { matchLabels, matchExpressions } = isJsonObject(selector) ? selector : {};
  if (isJsonObject(matchLabels)) {
    for (const [key, value] of Object.entries(matchLabels)) {
      const requirement: LabelRequirement = {
        key,
        operator: '=',
        values: [typeof value === 'string' ? value : encodeJson(value)],
      };
      errors.push(...validateLabelRequirement(requirement, path.child('matchLabels')));
      requirements.push(requirement);
    }
  }
  if (Array.isArray(matchExpressions)) {
    matchExpressions.forEach((expression, index) => {
      const at = path.child('matchExpressions').index(index);
      const { key = '', operator = '', values } = isJsonObject(expression) ? expression : {};
      const known = typeof operator === 'string' && Object.hasOwn(objectOperators, operator);
      if (typeof key !== 'string' || !known) {
        errors.push({
          type: 'FieldValueInvalid',
          field: at.child('operator').toString(),
          value: operator,
          detail: 'not a valid selector operator',
        });
        return;
      }
      const list = Array.isArray(values) ? values.filter((value) => typeof value === 'string') : [];
      const requirement: LabelRequirement = {
        key,
        operator: objectOperators[operator as keyof typeof objectOperators],
        values: [...new Set(list)].sort(compareBytewise),
      };
      errors.push(...validateLabelRequirement(requirement, at));
      requirements.push(requirement);
    });
  }
  return errors;
}
