import { compareBytewise } from '../json/json-codec.ts';
import { fieldErrorText, FieldPath } from '../validation/field-error.ts';
import {
  validateLabelKey,
  validateLabelRequirement,
  type LabelOperator,
  type LabelRequirement,
} from './label-requirement.ts';
import { SelectorParseError } from './selector-parse-error.ts';

type Symbol = '!' | '=' | '==' | '!=' | '<' | '>' | '(' | ')' | ',';
interface Token {
  readonly type: 'word' | 'end' | Symbol;
  readonly text: string;
}

const symbols = '=!(),><';
const blanks = ' \t\r\n';
const wordOperators: Readonly<Record<string, LabelOperator>> = { in: 'in', notin: 'notin' };
const symbolOperators: Readonly<Record<string, LabelOperator>> = {
  '=': '=',
  '==': '==',
  '!=': '!=',
  '>': 'gt',
  '<': 'lt',
};
const operatorNames = 'in, notin, =, ==, !=, gt, lt';

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let index = 0;
  while (index < text.length) {
    const char = text[index] as string;
    if (blanks.includes(char)) {
      index++;
    } else if (symbols.includes(char)) {
      const pair = (char === '=' || char === '!') && text[index + 1] === '=';
      const symbol = pair ? `${char}=` : char;
      tokens.push({ type: symbol as Symbol, text: symbol });
      index += symbol.length;
    } else {
      const start = index;
      while (index < text.length && !blanks.includes(text[index] as string) && !symbols.includes(text[index] as string))
        index++;
      tokens.push({ type: 'word', text: text.slice(start, index) });
    }
  }
  return tokens;
}

/** Requirements of the grammar of `labels.Parse`. Errors inside a requirement carry a prefix, those around it none. */
export function parseLabelRequirements(text: string): LabelRequirement[] {
  const parser = new Parser(tokenize(text));
  const requirements: LabelRequirement[] = [];
  for (;;) {
    const next = parser.peek();
    if (next.type === 'end') return requirements;
    if (next.type !== 'word' && next.type !== '!')
      throw new SelectorParseError(`found '${next.text}', expected: !, identifier, or 'end of string'`);
    requirements.push(parser.requirement());
    const after = parser.take();
    if (after.type === 'end') return requirements;
    if (after.type !== ',') throw new SelectorParseError(`found '${after.text}', expected: ',' or 'end of string'`);
    const following = parser.peek();
    if (following.type !== 'word' && following.type !== '!') {
      throw new SelectorParseError(`found '${following.text}', expected: identifier after ','`);
    }
  }
}

const end: Token = { type: 'end', text: '' };

class Parser {
  readonly #tokens: readonly Token[];
  #next = 0;
  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  peek(): Token {
    return this.#tokens[this.#next] ?? end;
  }

  take(): Token {
    const token = this.peek();
    this.#next++;
    return token;
  }

  requirement(): LabelRequirement {
    let first = this.take();
    const absent = first.type === '!';
    if (absent) first = this.take();
    if (first.type !== 'word') throw this.#failure(`found '${first.text}', expected: identifier`);
    const key = first.text;
    const [badKey] = validateLabelKey(key, FieldPath.root());
    if (badKey !== undefined) throw this.#failure(fieldErrorText(badKey));
    if (absent) return { key, operator: '!', values: [] };
    const { type } = this.peek();
    if (type === 'end' || type === ',') return { key, operator: 'exists', values: [] };
    const operator = this.#operator();
    const values = operator === 'in' || operator === 'notin' ? this.#values() : [this.#value()];
    const requirement = { key, operator, values: values.sort(compareBytewise) };
    const errors = validateLabelRequirement(requirement).map(fieldErrorText);
    if (errors.length > 0) throw this.#failure(errors.length === 1 ? (errors[0] as string) : `[${errors.join(', ')}]`);
    return requirement;
  }

  #operator(): LabelOperator {
    const token = this.take();
    const known = token.type === 'word' ? wordOperators : symbolOperators;
    const operator = Object.hasOwn(known, token.text) ? known[token.text] : undefined;
    if (operator === undefined) throw this.#failure(`found '${token.text}', expected: ${operatorNames}`);
    return operator;
  }

  #value(): string {
    const { type } = this.peek();
    if (type === 'end' || type === ',') return '';
    const token = this.take();
    if (token.type !== 'word') throw this.#failure(`found '${token.text}', expected: identifier`);
    return token.text;
  }

  /** `(a,b)`; an empty place between commas and parentheses is the empty value. */
  #values(): string[] {
    const open = this.take();
    if (open.type !== '(') throw this.#failure(`found '${open.text}' expected: '('`);
    const values = new Set<string>();
    let token = this.take();
    if (token.type !== 'word' && token.type !== ',' && token.type !== ')') {
      throw this.#failure(`found '${token.text}', expected: ',', ')' or identifier`);
    }
    for (;;) {
      if (token.type === 'word') {
        values.add(token.text);
        token = this.take();
        if (token.type !== ',' && token.type !== ')')
          throw this.#failure(`found '${token.text}', expected: ',' or ')'`);
      } else {
        values.add('');
      }
      if (token.type === ')') return [...values];
      if (token.type !== ',') throw this.#failure(`found '${token.text}', expected: ',', or identifier`);
      token = this.take();
    }
  }

  #failure(why: string): SelectorParseError {
    return new SelectorParseError(`unable to parse requirement: ${why}`);
  }
}
