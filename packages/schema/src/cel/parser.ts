import { operators, type CallExpr, type Expr, type ListExpr, type MapExpr, type StructExpr } from './ast.ts';
import { CelIssues, type Issue } from './issues.ts';
import { Lexer, type Token } from './lexer.ts';
import { parseFloat64, parseInt64, parseText, parseUint64 } from './literals.ts';
import { expandMacro, type MacroHost } from './macros.ts';

/** Bounds of cel-go: deeper or longer expressions are refused before anything walks over them. */
const depthLimit = 250;
const sizeLimit = 100_000;

const reserved = new Set(
  'as break const continue else false for function if import in let loop package namespace null return true var void while'.split(
    ' ',
  ),
);
const primaryStart =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
const relations: Readonly<Record<string, string>> = {
  '<': operators.less,
  '<=': operators.lessEquals,
  '>': operators.greater,
  '>=': operators.greaterEquals,
  '==': operators.equals,
  '!=': operators.notEquals,
  in: operators.in,
};
const sums: Readonly<Record<string, string>> = { '+': operators.add, '-': operators.subtract };
const products: Readonly<Record<string, string>> = {
  '*': operators.multiply,
  '/': operators.divide,
  '%': operators.modulo,
};

export interface ParserOptions {
  /** Optional syntax (`a.?b`, `a[?b]`, `[?a]`). Default: on. */
  readonly optionals?: boolean;
}

/** Parses an expression and expands its macros. Throws CelIssues. */
export function parseExpression(source: string, options: ParserOptions = {}): Expr {
  const size = source.length > sizeLimit ? Array.from(source).length : source.length;
  if (size > sizeLimit) {
    const message = `expression code point size exceeds limit: size: ${size}, limit ${sizeLimit}`;
    throw new CelIssues('', [{ at: 0, message }]);
  }
  return new Parser(source, options).parse();
}

/** Ends parsing: what follows an error of syntax is not worth a message. */
class Stop extends Error {}

/**
 * Recursive descent over the grammar of cel-go. `depth` counts nesting, and the length of chains that nest to the left
 * (`a + b + c`, `a.b.c`), as cel-go does: the tree is never deeper than {@link depthLimit} per rule.
 */
class Parser implements MacroHost {
  readonly #source: string;
  readonly #options: ParserOptions;
  readonly #issues: Issue[] = [];
  #tokens: readonly Token[] = [];
  #position = 0;
  #depth = 0;

  constructor(source: string, options: ParserOptions) {
    this.#source = source;
    this.#options = options;
  }

  parse(): Expr {
    this.#tokens = new Lexer(this.#source, this.#issues).tokens();
    let expr: Expr | undefined;
    try {
      expr = this.#expr();
      if (this.#token.kind !== 'eof') {
        const next = this.#tokens[this.#position + 1];
        this.report(
          this.#token.at,
          `Syntax error: ${next?.kind === 'eof' ? 'extraneous' : 'mismatched'} input '${this.#token.text}' expecting <EOF>`,
        );
      }
    } catch (error) {
      if (!(error instanceof Stop)) throw error;
    }
    if (this.#issues.length > 0 || expr === undefined) throw new CelIssues(this.#source, this.#issues);
    return expr;
  }

  report(at: number, message: string): void {
    this.#issues.push({ at, message });
  }

  get #token(): Token {
    return this.#tokens[this.#position] as Token;
  }
  #is(text: string): boolean {
    const token = this.#token;
    return token.text === text && (token.kind === 'punctuation' || token.kind === 'keyword');
  }
  #take(): Token {
    const token = this.#token;
    if (token.kind !== 'eof') this.#position++;
    return token;
  }
  #accept(text: string): Token | undefined {
    return this.#is(text) ? this.#take() : undefined;
  }
  #fail(expecting: string): never {
    this.report(this.#token.at, `Syntax error: mismatched input '${this.#token.text}' expecting ${expecting}`);
    throw new Stop();
  }
  #expect(text: string): Token {
    return this.#accept(text) ?? this.#fail(`'${text}'`);
  }
  #deeper(): void {
    if (++this.#depth <= depthLimit) return;
    this.report(-1, `expression recursion limit exceeded: ${depthLimit}`);
    throw new Stop();
  }

  #expr(): Expr {
    this.#deeper();
    const condition = this.#logical('||');
    const mark = this.#accept('?');
    if (mark === undefined) {
      this.#depth--;
      return condition;
    }
    const yes = this.#logical('||');
    this.#expect(':');
    const no = this.#expr();
    this.#depth--;
    return call(mark.at, operators.conditional, [condition, yes, no]);
  }

  /** Chains of `||` and `&&` become balanced trees: they may be long. */
  #logical(operator: '||' | '&&'): Expr {
    const next = (): Expr => (operator === '||' ? this.#logical('&&') : this.#relation());
    const terms = [next()];
    const places: number[] = [];
    for (let mark = this.#accept(operator); mark !== undefined; mark = this.#accept(operator)) {
      places.push(mark.at);
      terms.push(next());
    }
    const fn = operator === '||' ? operators.or : operators.and;
    const balance = (from: number, to: number): Expr => {
      const middle = Math.floor((from + to + 1) / 2);
      const left = middle === from ? (terms[from] as Expr) : balance(from, middle - 1);
      const right = middle === to ? (terms[to + 1] as Expr) : balance(middle + 1, to);
      return call(places[middle] as number, fn, [left, right]);
    };
    return places.length === 0 ? (terms[0] as Expr) : balance(0, places.length - 1);
  }

  #relation(): Expr {
    return this.#chain(relations, () => this.#chain(sums, () => this.#chain(products, () => this.#unary())));
  }

  #chain(table: Readonly<Record<string, string>>, next: () => Expr): Expr {
    let left = next();
    const before = this.#depth;
    for (;;) {
      const token = this.#token;
      if (token.kind !== 'punctuation' && token.kind !== 'keyword') break;
      if (!Object.hasOwn(table, token.text)) break;
      this.#deeper();
      this.#take();
      left = call(token.at, table[token.text] as string, [left, next()]);
    }
    this.#depth = before;
    return left;
  }

  #unary(): Expr {
    const first = this.#token;
    if (this.#is('!')) {
      let count = 0;
      while (this.#accept('!') !== undefined) count++;
      const operand = this.#member();
      return count % 2 === 0 ? operand : call(first.at, operators.not, [operand]);
    }
    if (this.#is('-') && !this.#negativeNumber()) {
      let count = 0;
      while (this.#is('-')) {
        this.#take();
        count++;
      }
      const operand = this.#member();
      return count % 2 === 0 ? operand : call(first.at, operators.negate, [operand]);
    }
    return this.#member();
  }

  #negativeNumber(): boolean {
    const next = this.#tokens[this.#position + 1];
    return this.#is('-') && (next?.kind === 'int' || next?.kind === 'float');
  }

  #member(): Expr {
    let operand = this.#primary();
    const before = this.#depth;
    for (;;) {
      const mark = this.#token;
      if (this.#accept('.') !== undefined) {
        this.#deeper();
        operand = this.#selection(operand, mark.at);
      } else if (this.#accept('[') !== undefined) {
        this.#deeper();
        const optional = this.#optionalMark();
        const index = this.#expr();
        this.#expect(']');
        operand = call(mark.at, optional ? operators.optIndex : operators.index, [operand, index]);
      } else break;
    }
    this.#depth = before;
    return operand;
  }

  #selection(operand: Expr, at: number): Expr {
    const optional = this.#optionalMark();
    const name = this.#token;
    if (name.kind !== 'identifier' && name.kind !== 'escaped') {
      return this.#fail(optional ? '{IDENTIFIER, ESC_IDENTIFIER}' : "{'?', IDENTIFIER, ESC_IDENTIFIER}");
    }
    this.#take();
    if (name.kind === 'escaped') this.report(name.at, "unsupported syntax: '`'");
    const field = name.kind === 'escaped' ? name.text.slice(1, -1) : name.text;
    if (optional) return call(at, operators.optSelect, [operand, { kind: 'const', at: name.at, value: field }]);
    const open = name.kind === 'identifier' ? this.#accept('(') : undefined;
    if (open === undefined) return { kind: 'select', at, operand, field, testOnly: false };
    return this.#call(open.at, field, operand);
  }

  #optionalMark(): boolean {
    const mark = this.#accept('?');
    if (mark !== undefined && this.#options.optionals === false) this.report(mark.at, "unsupported syntax '?'");
    return mark !== undefined;
  }

  #call(at: number, fn: string, target: Expr | undefined): Expr {
    const args: Expr[] = [];
    if (!this.#is(')')) {
      do args.push(this.#expr());
      while (this.#accept(',') !== undefined);
    }
    this.#expect(')');
    return expandMacro({ kind: 'call', at, fn, target, args }, this);
  }

  #primary(): Expr {
    const token = this.#token;
    switch (token.kind) {
      case 'int':
      case 'uint':
      case 'float':
        this.#take();
        return this.#number(token.at, token, '');
      case 'string':
      case 'bytes': {
        this.#take();
        const { value, problem } = parseText(token.text, token.kind === 'bytes');
        if (problem !== undefined) this.report(token.at, problem);
        return { kind: 'const', at: token.at, value };
      }
      case 'identifier':
        return this.#named('');
      case 'punctuation':
      case 'keyword':
        return this.#marked(token);
      default:
        return this.#fail(primaryStart);
    }
  }

  #marked(token: Token): Expr {
    switch (token.text) {
      case '(': {
        this.#take();
        const inner = this.#expr();
        this.#expect(')');
        return inner;
      }
      case '[':
        return this.#list();
      case '{':
        return this.#map();
      case '.':
        this.#take();
        if (this.#token.kind !== 'identifier') return this.#fail('IDENTIFIER');
        return this.#named('.');
      case '-':
        if (this.#negativeNumber()) {
          this.#take();
          return this.#number(token.at, this.#take(), '-');
        }
        break;
      case 'true':
      case 'false':
        this.#take();
        return { kind: 'const', at: token.at, value: token.text === 'true' };
      case 'null':
        this.#take();
        return { kind: 'const', at: token.at, value: null };
    }
    return this.#fail(primaryStart);
  }

  #number(at: number, token: Token, sign: string): Expr {
    const text = sign + token.text;
    const value =
      token.kind === 'int' ? parseInt64(text) : token.kind === 'uint' ? parseUint64(text) : parseFloat64(text);
    if (value === undefined) this.report(at, `invalid ${token.kind} literal`);
    if (typeof value === 'number' && !Number.isFinite(value)) this.report(at, 'invalid double literal');
    return { kind: 'const', at, value: value ?? 0n };
  }

  /** An identifier, a call of a function by its name, or a message. */
  #named(dot: string): Expr {
    const token = this.#take();
    if (reserved.has(token.text)) this.report(token.at, `reserved identifier: ${token.text}`);
    const open = this.#accept('(');
    if (open !== undefined) return this.#call(open.at, dot + token.text, undefined);
    const message = this.#messageName();
    if (message === undefined) return { kind: 'ident', at: token.at, name: dot + token.text };
    return this.#struct(dot + [token.text, ...message].join('.'));
  }

  /** The further parts of a name if a `{` follows it. Undefined: this is no message. */
  #messageName(): string[] | undefined {
    const parts: string[] = [];
    let position = this.#position;
    while (this.#tokens[position]?.text === '.' && this.#tokens[position + 1]?.kind === 'identifier') {
      parts.push((this.#tokens[position + 1] as Token).text);
      position += 2;
    }
    if (this.#tokens[position]?.text !== '{') return undefined;
    this.#position = position;
    return parts;
  }

  #struct(name: string): StructExpr {
    const open = this.#expect('{');
    const fields: StructExpr['fields'][number][] = [];
    while (!this.#is('}')) {
      const optional = this.#optionalMark();
      const field = this.#token;
      if (field.kind !== 'identifier' && field.kind !== 'escaped')
        this.#fail("{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}");
      this.#take();
      if (field.kind === 'escaped') this.report(field.at, "unsupported syntax: '`'");
      const colon = this.#expect(':');
      const text = field.kind === 'escaped' ? field.text.slice(1, -1) : field.text;
      fields.push({ name: text, value: this.#expr(), optional, at: colon.at });
      if (this.#accept(',') === undefined) break;
    }
    this.#expect('}');
    return { kind: 'struct', at: open.at, name, fields };
  }

  #list(): Expr {
    const open = this.#take();
    const items: ListExpr['items'][number][] = [];
    while (!this.#is(']') && !(items.length === 0 && this.#is(',') && this.#accept(',') !== undefined)) {
      const optional = this.#optionalMark();
      items.push({ value: this.#expr(), optional });
      if (this.#accept(',') === undefined) break;
    }
    this.#expect(']');
    return { kind: 'list', at: open.at, items };
  }

  #map(): Expr {
    const open = this.#take();
    const entries: MapExpr['entries'][number][] = [];
    while (!this.#is('}') && !(entries.length === 0 && this.#is(',') && this.#accept(',') !== undefined)) {
      const optional = this.#optionalMark();
      const key = this.#expr();
      this.#expect(':');
      entries.push({ key, value: this.#expr(), optional });
      if (this.#accept(',') === undefined) break;
    }
    this.#expect('}');
    return { kind: 'map', at: open.at, entries };
  }
}

const call = (at: number, fn: string, args: readonly Expr[]): CallExpr => ({
  kind: 'call',
  at,
  fn,
  target: undefined,
  args,
});
