/** A class of answers that differ from those of Kubernetes, by what the reference says or by the expression. */
interface Exception {
  readonly expression?: RegExp;
  readonly reference?: RegExp;
  /** As in docs/compatibility.md. */
  readonly reason: string;
}

/** The classes that docs/compatibility.md lists. */
export const exceptions: readonly Exception[] = [
  { reference: /^nothing$/, reason: 'a warning of a policy keeps its line breaks as spaces' },
  { reference: /^internal error: |unhashable/, reason: 'faults of the evaluation itself are errors of the expression' },
  { expression: /flatten\(-/, reference: /level must be|cost limit/, reason: 'a negative depth has no negative cost' },
  { expression: /google\.protobuf\.\w+\{/, reason: 'no messages of protobuf are made' },
  { reference: /invalid qualifier type: /, reason: 'lists and maps of schemas have the Go types of literals' },
  {
    reference: /^unsupported index: |, error |^no such overload: \w+\.flatten/,
    reason: 'lists of schemas are ordinary lists',
  },
  { expression: /double\('NaN'\).*transformMapEntry/, reason: 'NaN is a key that can be read' },
  {
    expression: /quantity\('(?:9223372036854775808|1e19|\d{25,})'\)|quantity\('9223372036854775807'\)/,
    reason: 'amounts are cut at 2^63-1 in every format',
  },
  {
    reference: /got &\{|json: unsupported value/,
    reason: 'apply configurations take durations, timestamps, bytes and unsigned integers as JSON has them',
  },
  { reference: /^value null$/, reason: 'empty lists of apply configurations are not null' },
  {
    expression: /^authorizer == authorizer$|\.reason\(\)/,
    reason: 'authorizers are values, with reasons of their own',
  },
];

/** Why an answer may differ. Undefined: it may not. */
export function exceptionFor(expression: string, reference: string): string | undefined {
  return exceptions.find(
    (entry) =>
      (entry.expression === undefined || entry.expression.test(expression)) &&
      (entry.reference === undefined || entry.reference.test(reference)),
  )?.reason;
}
