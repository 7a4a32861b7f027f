import type { CelProgram } from '@multiplane/schema';

type Expression = CelProgram['expression'];

/** Whether an expression reads `claims.<name>` or `claims.?<name>`. */
export function readsClaim(expression: Expression, name: string): boolean {
  const isClaims = (operand: Expression | undefined): boolean => operand?.kind === 'ident' && operand.name === 'claims';
  switch (expression.kind) {
    case 'select':
      return (isClaims(expression.operand) && expression.field === name) || readsClaim(expression.operand, name);
    case 'call': {
      const [first, second] = expression.args;
      if (expression.fn === '_?._' && isClaims(first) && second?.kind === 'const' && second.value === name) return true;
      const parts = expression.target === undefined ? expression.args : [expression.target, ...expression.args];
      return parts.some((part) => readsClaim(part, name));
    }
    case 'list':
      return expression.items.some(({ value }) => readsClaim(value, name));
    case 'map':
      return expression.entries.some(({ key, value }) => readsClaim(key, name) || readsClaim(value, name));
    case 'struct':
      return expression.fields.some(({ value }) => readsClaim(value, name));
    case 'fold': {
      const { range, init, condition, step, result } = expression;
      return [range, init, condition, step, result].some((part) => readsClaim(part, name));
    }
    default:
      return false;
  }
}
