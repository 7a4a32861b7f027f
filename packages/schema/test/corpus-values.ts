import { CelEnvironment } from '../src/cel/environment.ts';
import type { Overload } from '../src/cel/function-declaration.ts';
import { kubernetesFunctions } from '../src/cel/kubernetes-environment.ts';
import { compileExpression } from '../src/cel/program.ts';
import { equal } from '../src/cel/equality.ts';
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  mapType,
  nullType,
  opaqueType,
  paramType,
  stringType,
  timestampType,
  typeOfType,
  typeText,
  typeType,
  uintType,
  type CelType,
} from '../src/cel/types.ts';
import { CelMap, CelTypeValue, CelUint, type CelValue } from '../src/cel/values.ts';
import { standardTypes } from '../src/cel/standard-types.ts';

/** A case of the corpus of the CEL specification, as its JSON has it. */
export interface CorpusCase {
  readonly name: string;
  readonly expr: string;
  readonly container?: string;
  readonly disableCheck?: boolean;
  readonly checkOnly?: boolean;
  readonly typeEnv?: readonly {
    readonly name: string;
    readonly ident?: { readonly type: CorpusType };
    readonly function?: { readonly overloads: readonly CorpusOverload[] };
  }[];
  readonly bindings?: Readonly<Record<string, { readonly value?: CorpusValue }>>;
  readonly value?: CorpusValue;
  readonly evalError?: unknown;
  readonly typedResult?: { readonly result?: CorpusValue; readonly deducedType: CorpusType };
}
interface CorpusOverload {
  readonly overloadId: string;
  readonly params?: readonly CorpusType[];
  readonly typeParams?: readonly string[];
  readonly resultType: CorpusType;
  readonly isInstanceFunction?: boolean;
}
export interface CorpusSuite {
  readonly name: string;
  readonly suites?: readonly CorpusSuite[];
  readonly tests?: readonly { readonly original: CorpusCase }[];
}
type CorpusValue = Readonly<Record<string, unknown>>;
type CorpusType = Readonly<Record<string, unknown>>;

/** All cases of a suite with the names of the suites they are in. */
export function* casesOf(suite: CorpusSuite, path: string): Iterable<readonly [string, CorpusCase]> {
  for (const { original } of suite.tests ?? []) yield [`${path}/${original.name}`, original];
  for (const inner of suite.suites ?? []) yield* casesOf(inner, `${path}/${inner.name}`);
}

const primitives: Readonly<Record<string, CelType>> = {
  BOOL: boolType,
  INT64: intType,
  UINT64: uintType,
  DOUBLE: doubleType,
  STRING: stringType,
  BYTES: bytesType,
};

/** A type; throws for those of protobuf messages. */
export function corpusType(type: CorpusType): CelType {
  if (typeof type['primitive'] === 'string') return primitives[type['primitive']] as CelType;
  if (typeof type['typeParam'] === 'string') return paramType(type['typeParam']);
  if ('dyn' in type) return dynType;
  if ('null' in type) return nullType;
  if (type['wellKnown'] === 'TIMESTAMP') return timestampType;
  if (type['wellKnown'] === 'DURATION') return durationType;
  const { listType: list, mapType: map, abstractType: opaque, type: inner } = type as Record<string, CorpusType>;
  if (list !== undefined) return listType(corpusType((list['elemType'] ?? { dyn: {} }) as CorpusType));
  if (map !== undefined)
    return mapType(corpusType(map['keyType'] as CorpusType), corpusType(map['valueType'] as CorpusType));
  if (opaque !== undefined)
    return opaqueType(
      opaque['name'] as string,
      ...((opaque['parameterTypes'] ?? []) as CorpusType[]).map((param) => corpusType(param)),
    );
  if (inner !== undefined) return Object.keys(inner).length === 0 ? typeType : typeOfType(corpusType(inner));
  throw new Error(`a type of messages: ${JSON.stringify(type)}`);
}

export function corpusValue(value: CorpusValue): CelValue {
  const [kind, content] = Object.entries(value)[0] as [string, unknown];
  switch (kind) {
    case 'int64Value':
      return BigInt(content as string);
    case 'uint64Value':
      return new CelUint(BigInt(content as string));
    case 'doubleValue':
      return Number(content);
    case 'bytesValue':
      return Buffer.from(content as string, 'base64');
    case 'listValue':
      return ((content as { values?: CorpusValue[] }).values ?? []).map(corpusValue);
    case 'mapValue': {
      const entries = (content as { entries?: { key: CorpusValue; value: CorpusValue }[] }).entries ?? [];
      return CelMap.of(entries.map((entry) => [corpusValue(entry.key), corpusValue(entry.value)]));
    }
    case 'typeValue':
      return standardTypes.get(content as string)?.value ?? new CelTypeValue(opaqueType(content as string));
    case 'objectValue': {
      const message = content as Readonly<Record<string, string>>;
      const name = message['@type']?.endsWith('Duration') === true ? 'duration' : 'timestamp';
      return evaluate({ name, expr: `${name}('${message['value']}')` }) as CelValue;
    }
    default:
      return content as CelValue;
  }
}

/** Equal as the corpus means it: NaN is itself, types of values count. */
export function sameValue(actual: CelValue, expected: CelValue): boolean {
  if (Number.isNaN(expected)) return Number.isNaN(actual);
  if (Array.isArray(actual) && Array.isArray(expected)) {
    return (
      actual.length === expected.length &&
      actual.every((item: CelValue, index) => sameValue(item, expected[index] as CelValue))
    );
  }
  return typeof actual === typeof expected && equal(actual, expected);
}

/** Functions that a case declares; it only asks for their types. */
function declaredFunctions(test: CorpusCase): [string, Overload[]][] {
  return (test.typeEnv ?? []).flatMap(({ name, function: declared }): [string, Overload[]][] => {
    if (declared === undefined) return [];
    const overloads = declared.overloads.map((overload) => ({
      id: overload.overloadId,
      name,
      member: overload.isInstanceFunction === true,
      args: (overload.params ?? []).map(corpusType),
      result: corpusType(overload.resultType),
      params: overload.typeParams ?? [],
      apply: () => null,
    }));
    return [[name, overloads]];
  });
}

/** The result of a case; an Error if it ends with one. */
export function evaluate(test: CorpusCase): CelValue | Error {
  const variables = Object.fromEntries(
    (test.typeEnv ?? []).flatMap(({ name, ident }) => (ident === undefined ? [] : [[name, corpusType(ident.type)]])),
  );
  const values = Object.fromEntries(
    Object.entries(test.bindings ?? {}).map(([name, { value }]) => [name, corpusValue(value ?? { nullValue: null })]),
  );
  try {
    const environment = new CelEnvironment({
      functions: new Map([...kubernetesFunctions, ...declaredFunctions(test)]),
      variables,
      container: test.container ?? '',
      homogeneousLiterals: false,
    });
    const program = compileExpression(test.expr, environment, { unchecked: test.disableCheck === true });
    if (test.checkOnly === true || (test.typedResult !== undefined && test.typedResult.result === undefined)) {
      const wanted = typeText(corpusType((test.typedResult as { deducedType: CorpusType }).deducedType));
      const actual = typeText(program.type ?? dynType);
      return actual === wanted ? true : new Error(`type ${actual}, not ${wanted}`);
    }
    const outcome = program.evaluate(values);
    return outcome.error ?? outcome.value;
  } catch (error) {
    return error as Error;
  }
}
