import type { CallExpr, Expr } from './ast.ts';
import { CelError } from './cel-error.ts';
import { formatTypeError, interpolateFormat, type FormatVerb } from './format-clauses.ts';
import type { Issue } from './issues.ts';
import type { CelKind, CelType } from './types.ts';

const accepted: Readonly<Record<Exclude<FormatVerb, 's'>, readonly CelKind[]>> = {
  d: ['int', 'uint'],
  // Strings, as `NaN`, `Infinity` and `-Infinity` are valid.
  f: ['double', 'string'],
  e: ['double', 'string'],
  b: ['int', 'uint', 'bool'],
  o: ['int', 'uint'],
  x: ['int', 'uint', 'string', 'bytes'],
  X: ['int', 'uint', 'string', 'bytes'],
};
const withoutText: readonly CelKind[] = ['opaque', 'struct', 'param', 'error'];

/**
 * What is wrong with a checked call of `format` whose format string and list are literals (cel-go
 * `ext/formatting.go`, `stringFormatValidator`). Of such a call only the first problem is reported.
 */
export function formatLiteralIssue(call: CallExpr): Issue[] {
  const { target, fn, args } = call;
  const list = args[0];
  if (fn !== 'format' || args.length !== 1 || list?.kind !== 'list') return [];
  if (target?.kind !== 'const' || typeof target.value !== 'string') return [];
  let requested = 0;
  let { at } = call;
  try {
    interpolateFormat(target.value, {
      take: () => void requested++,
      size: list.items.length,
      print: (verb, index) => {
        const wrong = unprintable(verb, (list.items[index] as { value: Expr }).value);
        if (wrong === undefined) return '';
        at = wrong.at;
        throw formatTypeError(verb, (wrong.type as CelType).name);
      },
    });
  } catch (error) {
    if (error instanceof CelError) return [{ at, message: error.message }];
    throw error;
  }
  const given = list.items.length;
  if (given <= requested) return [];
  return [{ at, message: `too many arguments supplied to string.format (expected ${requested}, got ${given})` }];
}

/** The part of an argument that the clause cannot print. Types that are known at run time only may be any. */
function unprintable(verb: FormatVerb, arg: Expr): Expr | undefined {
  const { kind } = arg.type as CelType;
  if (verb !== 's') return kind === 'dyn' || accepted[verb].includes(kind) ? undefined : arg;
  if (withoutText.includes(kind)) return arg;
  for (const part of partsOf(arg)) {
    const wrong = unprintable(verb, part);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

function partsOf(arg: Expr): readonly Expr[] {
  if (arg.kind === 'list') return arg.items.map(({ value }) => value);
  return arg.kind === 'map' ? arg.entries.flatMap(({ key, value }) => [key, value]) : [];
}
