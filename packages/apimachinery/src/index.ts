export * from './json/json.ts';
export { deepCopyIncrementally, deepEqualIncrementally, deepFreezeIncrementally } from './json/json-steps.ts';
export * from './meta/object.ts';
export * from './meta/group-version.ts';
export * from './meta/logical-cluster.ts';
export * from './go/go-float.ts';
export * from './go/go-quote.ts';
export * from './validation/ca-bundle.ts';
export * from './values/split-url.ts';
export * from './go/go-time-error.ts';
export * from './validation/field-error.ts';
export * from './errors/status-error.ts';
export * from './errors/error-text.ts';
export * from './async/map-concurrently.ts';
export * from './async/sort-incrementally.ts';
export * from './meta/user-info.ts';
export * from './async/run-to-completion.ts';
export * from './json/json-codec.ts';
export * from './json/skip-json.ts';
export * from './yaml/yaml-codec.ts';
export * from './go/strconv.ts';
export * from './validation/names.ts';
export * from './validation/finalizers.ts';
export * from './validation/owner-references.ts';
export * from './validation/field-manager.ts';
export * from './validation/object-meta-validation.ts';
export * from './meta/generate-name.ts';
export * from './meta/version-priority.ts';
export * from './values/hash-encoding.ts';
export * from './meta/resource-version.ts';
export * from './meta/continue-token.ts';
export * from './selectors/selector-parse-error.ts';
export * from './selectors/label-requirement.ts';
export * from './selectors/label-selector.ts';
export * from './selectors/field-selector.ts';
export * from './meta/options.ts';
export * from './values/time.ts';
export * from './meta/media-type.ts';
export * from './meta/table.ts';
export * from './meta/conditions.ts';
export * from './patch/json-patch.ts';
export { applyMergePatch, applyMergePatchIncrementally, copyWithoutNulls } from './patch/merge-patch.ts';
export * from './patch/number-literals.ts';
export * from './patch/strategic-merge-patch.ts';
export * from './values/quantity.ts';
export * from './json/json-path.ts';
export { decodeMessage, decodeMessageIncrementally, maxMessageDepth } from './protobuf/message-decoder.ts';
export { encodeMessage, encodeMessageIncrementally } from './protobuf/message-encoder.ts';
export { JsonTranscoder } from './protobuf/json-transcoder.ts';
export {
  MessageType,
  type CompiledField,
  type MessageConversion,
  type MessageField,
  type ScalarType,
} from './protobuf/message-type.ts';
export {
  protobufEnvelopeHead,
  protobufEnvelopeTail,
  readProtobufEnvelope,
  type ProtobufEnvelope,
} from './protobuf/envelope.ts';
export { WireReader } from './protobuf/wire-reader.ts';
export { WireWriter } from './protobuf/wire-writer.ts';
export { ProtobufError } from './protobuf/protobuf-error.ts';
export * from './apply/typed-schema.ts';
export { ListElements } from './apply/list-elements.ts';
export { FieldSet } from './apply/field-set.ts';
export { type PathElement, displayPath, fieldElement } from './apply/path-element.ts';
export { TooManyFieldsError, decodeFieldsV1, encodeFieldsV1, encodeIncrementally } from './apply/fields-v1.ts';
export { fieldSetOf } from './apply/field-set-of.ts';
export { goValueText } from './go/go-value-text.ts';
export { TypedValueError, typedProblem, validateIncrementally, validateTyped } from './apply/validate-typed.ts';
export { Comparison, compareTyped } from './apply/compare-typed.ts';
export { fieldsOfNew } from './apply/fields-of-new.ts';
export { mergeIncrementally, mergeTyped } from './apply/merge-typed.ts';
export { extractFields, removeFields } from './apply/remove-fields.ts';
export * from './apply/managed-fields.ts';
export { ApplyConflicts, applyConflictStatus } from './apply/apply-conflict.ts';
export * from './apply/update-managers.ts';
