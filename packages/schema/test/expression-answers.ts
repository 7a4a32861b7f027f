import type { Json, JsonObject } from '@multiplane/apimachinery';
import { CelIssues } from '../src/cel/issues.ts';
import { estimateCost } from '../src/cel/cost-estimate.ts';
import { kubernetesEnvironment } from '../src/cel/kubernetes-environment.ts';
import { compileExpression, perCallLimit, type CelProgram } from '../src/cel/program.ts';
import { schemaType, type SchemaType } from '../src/cel/schema-type.ts';
import { plainValue, valueOf } from '../src/cel/schema-value.ts';
import { sizeAt } from '../src/cel/compiled-rule.ts';
import { dynType } from '../src/cel/types.ts';
import { typeOfValue } from '../src/cel/standard-types.ts';
import {
  CelDuration,
  CelMap,
  CelObject,
  CelOpaque,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  isList,
  type CelValue,
} from '../src/cel/values.ts';

/** What an expression is evaluated on: `self` and `oldSelf` by their schema, `object` is `self` without one. */
export interface Fixture {
  readonly schema: JsonObject;
  readonly self: Json;
  readonly oldSelf: Json;
}

/** What a server makes of an expression. */
export interface Answer {
  /** Why it does not compile. */
  readonly issues?: string | undefined;
  /** Why it compiles, but cannot be evaluated at all. */
  readonly problem?: string | undefined;
  readonly value?: string | undefined;
  readonly error?: string | undefined;
  /** The least and the most it is estimated to cost. */
  readonly estimate?: string | undefined;
  /** What it did cost. */
  readonly cost?: number | undefined;
}

/** Evaluates expressions as rules of a definition and policies do. */
export class ExpressionAnswers {
  readonly #type: SchemaType;
  readonly #environment;
  readonly #variables: Readonly<Record<string, CelValue>>;

  constructor({ schema, self, oldSelf }: Fixture) {
    const type = schemaType(schema, false);
    if (type === undefined) throw new Error('rules do not see the schema');
    this.#type = type;
    this.#environment = kubernetesEnvironment({ self: type.type, oldSelf: type.type, object: dynType });
    this.#variables = { self: valueOf(self, type), oldSelf: valueOf(oldSelf, type), object: plainValue(self) };
  }

  of(expression: string): Answer {
    let program: CelProgram;
    try {
      program = compileExpression(expression, this.#environment);
    } catch (error) {
      if (error instanceof CelIssues) return { issues: error.message };
      throw error;
    }
    const { min, max } = estimateCost(program.expression, (path) => sizeAt(this.#type, path));
    const estimate = `${min} ${max}`;
    if (program.problem !== undefined) return { estimate, problem: program.problem };
    const { cost, value, error } = program.evaluate(this.#variables, perCallLimit);
    if (error !== undefined) return { estimate, error: error.message, cost };
    return { estimate, value: valueText(value), cost };
  }
}

/** A value with its type, on one line. */
function valueText(value: CelValue): string {
  switch (typeof value) {
    case 'bigint':
    case 'boolean':
      return String(value);
    case 'string':
      return JSON.stringify(value).replaceAll(/[\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16)}`);
    case 'number':
      return `double ${Object.is(value, -0) ? '-0e+0' : Number.isFinite(value) ? value.toExponential() : value > 0 ? '+Inf' : value < 0 ? '-Inf' : 'NaN'}`;
    default:
  }
  if (value === null) return 'null';
  if (isList(value)) return `[${value.map(valueText).join(', ')}]`;
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`;
  if (value instanceof CelUint) return `${value.value}u`;
  if (value instanceof CelTimestamp) {
    const nanos = ((value.nanos % billion) + billion) % billion;
    return `timestamp ${(value.nanos - nanos) / billion}.${String(nanos).padStart(9, '0')}`;
  }
  if (value instanceof CelDuration) return `duration ${value.nanos}`;
  if (value instanceof CelTypeValue) return `type ${value.type.name}`;
  if (value instanceof CelOptional) return value.value === undefined ? 'none' : `optional(${valueText(value.value)})`;
  if (value instanceof CelMap) return mapText(value.entries());
  if (value instanceof CelObject) {
    const names = [...(value.fields.type.fields?.keys() ?? [])];
    return mapText(
      names.flatMap((name): [CelValue, CelValue][] => {
        const field = value.fields.get(name);
        return field === undefined ? [] : [[name, field]];
      }),
    );
  }
  return value instanceof CelOpaque ? `opaque ${typeOfValue(value).name}` : String(value);
}
const billion = 1_000_000_000n;

/** In the order of the keys' texts: maps have none. */
const mapText = (entries: Iterable<readonly [CelValue, CelValue]>): string =>
  `{${[...entries]
    .map(([key, value]) => `${valueText(key)}: ${valueText(value)}`)
    .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .join(', ')}}`;
