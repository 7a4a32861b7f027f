import type { CorpusCase } from './corpus-values.ts';

const messages = 'protobuf messages have no place in the objects of Kubernetes';
const library = 'Kubernetes does not enable this library';

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

/** Whether a case needs messages, or functions of a later version of a library than Kubernetes enables. */
export function usesMessages(test: CorpusCase): boolean {
  const text = JSON.stringify(test);
  return (
    /TestAllTypes|google\.protobuf\.(?!Timestamp|Duration)|google\.protobuf\.(?:Timestamp|Duration)\{|messageType/.test(
      text,
    ) || /\.reverse\(\)|cel\.bind|math\.|base64\./.test(test.expr)
  );
}

/** Cases with another outcome here, each with the reason. */
export const differences: Readonly<Record<string, string>> = {
  'fields/qualified_identifier_resolution/qualified_identifier_resolution_unchecked': unchecked,
  'namespace/namespace/self_eval_container_lookup_unchecked': unchecked,
};
