import type { CorpusCase } from './corpus-values.ts';

const messages = 'protobuf messages have no place in the objects of Kubernetes';
const library = 'Kubernetes does not enable this library';

const offsets = 'cel-go 0.26 answers -1 for an offset behind the end';
const presence = 'Kubernetes does not enable errors for fields of values without fields (EnableErrorOnBadPresenceTest)';
const anyKey = 'cel-go 0.26 takes keys of any type, and keeps the last value of a key';
const unchecked = 'Kubernetes checks every expression: names are resolved there';

/** Suites that are not run, each with the reason. */
export const notOfKubernetes: Readonly<Record<string, string>> = {
  bindings_ext: library,
  block_ext: library,
  encoders_ext: library,
  math_ext: library,
  dynamic: messages,
  enums: messages,
  proto2: messages,
  proto2_ext: messages,
  proto3: messages,
  wrappers: messages,
};

/** `format` of version 4 of the strings library prints these otherwise; Kubernetes has version 2. */
const laterFormat = new Set([
  'scientific notation formatting clause',
  'scientific notation formatting clause in a string variable',
  'default precision for scientific notation',
  'positive infinity support for scientific notation',
  'negative infinity support for scientific notation',
  'NaN support for decimal',
  'positive infinity support for decimal',
  'negative infinity support for decimal',
  'positive infinity support for fixed-point',
  'negative infinity support for fixed-point',
  'list support for string',
  'map support for string',
  'map support (all key types)',
  'dyntype support for scientific notation',
  'dyntype NaN/infinity support',
  'dyntype support for lists',
  'dyntype support for maps',
]);

/** Whether a case needs messages, quoted names of fields, or functions of a later version of a library than Kubernetes enables. */
export function isOutOfScope(test: CorpusCase): boolean {
  if (laterFormat.has(test.name)) return true;
  const text = JSON.stringify(test);
  return (
    /TestAllTypes|google\.protobuf\.(?!Timestamp|Duration)|google\.protobuf\.(?:Timestamp|Duration)\{|messageType/.test(
      text,
    ) || /`|\.reverse\(\)|cel\.bind|math\.|base64\./.test(test.expr)
  );
}

/** Cases with another outcome here, each with the reason. */
export const differences: Readonly<Record<string, string>> = {
  'fields/qualified_identifier_resolution/map_key_float': anyKey,
  'fields/qualified_identifier_resolution/map_key_null': anyKey,
  'fields/qualified_identifier_resolution/map_value_repeat_key': anyKey,
  'fields/qualified_identifier_resolution/map_value_repeat_key_heterogeneous': anyKey,
  'fields/qualified_identifier_resolution/qualified_identifier_resolution_unchecked': unchecked,
  'namespace/namespace/self_eval_container_lookup_unchecked': unchecked,
  'optionals/optionals/map_null_entry_no_such_key': presence,
  'optionals/optionals/map_present_key_invalid_field': presence,
  'string_ext/value_errors/indexof_out_of_range': offsets,
  'string_ext/value_errors/lastindexof_out_of_range': offsets,
};
