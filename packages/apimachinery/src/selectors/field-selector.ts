import { SelectorParseError } from './selector-parse-error.ts';

export interface FieldRequirement {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/** A conjunction of comparisons of fields. Which fields a kind knows is not its business. Immutable. */
export class FieldSelector {
  readonly requirements: readonly FieldRequirement[];
  constructor(requirements: readonly FieldRequirement[]) {
    this.requirements = requirements;
  }

  /** True when every object matches. */
  get empty(): boolean {
    return this.requirements.length === 0;
  }

  /** `get` gives the value of a field, the empty text when it is absent. */
  matches(get: (field: string) => string): boolean {
    for (const { field, operator, value } of this.requirements) {
      if ((get(field) === value) !== (operator === '=')) return false;
    }
    return true;
  }

  /** The only value that a field may have; undefined when several are allowed. */
  exactValue(field: string): string | undefined {
    return this.requirements.find((requirement) => requirement.field === field && requirement.operator === '=')?.value;
  }

  /** What is left to look at where a field is known to have a value. */
  given(field: string, value: string): FieldSelector {
    const left = this.requirements.filter(
      (requirement) => requirement.field !== field || requirement.value !== value || requirement.operator !== '=',
    );
    return left.length === this.requirements.length ? this : new FieldSelector(left);
  }

  toString(): string {
    return this.requirements
      .map(({ field, operator, value }) => field + operator + value.replaceAll(/[\\,=]/g, String.raw`\$&`))
      .join(',');
  }
}

const everyField = new FieldSelector([]);

/**
 * Parses a `fieldSelector`, term by term in the order of their texts; a term without field and value selects everything,
 * as does the empty text. Throws {@link SelectorParseError} with the texts of `fields.ParseSelector`.
 */
export function parseFieldSelector(text: string): FieldSelector {
  if (text === '') return everyField;
  const requirements: FieldRequirement[] = [];
  for (const term of splitTerms(text).toSorted()) {
    if (term === '') continue;
    const requirement = parseTerm(term, text);
    if (requirement.field !== '' || requirement.value !== '') requirements.push(requirement);
  }
  return requirements.length === 0 ? everyField : new FieldSelector(requirements);
}

/** Splits at commas that no backslash protects; escapes stay. */
function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let index = 0; index < text.length; index++) {
    if (text[index] === '\\') {
      index++;
    } else if (text[index] === ',') {
      terms.push(text.slice(start, index));
      start = index + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

function parseTerm(term: string, whole: string): FieldRequirement {
  // A backslash protects nothing in the name of a field.
  for (let index = 0; index < term.length; index++) {
    const operator = ['!=', '==', '='].find((candidate) => term.startsWith(candidate, index));
    if (operator !== undefined) {
      const value = unescape(term.slice(index + operator.length));
      return { field: term.slice(0, index), operator: operator === '!=' ? '!=' : '=', value };
    }
  }
  throw new SelectorParseError(`invalid selector: '${whole}'; can't understand '${term}'`);
}

function unescape(text: string): string {
  let value = '';
  let escaped = false;
  for (const char of text) {
    const special = char === '\\' || char === ',' || char === '=';
    if (escaped) {
      if (!special) throw new SelectorParseError(`invalid field selector: invalid escape sequence: \\${char}`);
      value += char;
      escaped = false;
    } else if (char === '\\') {
      escaped = true;
    } else if (special) {
      throw new SelectorParseError(`invalid field selector: unescaped character in value: ${char.codePointAt(0)}`);
    } else {
      value += char;
    }
  }
  if (escaped) throw new SelectorParseError('invalid field selector: invalid escape sequence: \\');
  return value;
}
