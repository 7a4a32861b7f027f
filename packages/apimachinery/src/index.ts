export * from './json.ts';
export * from './object.ts';
export * from './group-version.ts';
export * from './logical-cluster.ts';
export * from './go-quote.ts';
export * from './go-time-error.ts';
export * from './field-error.ts';
export * from './status-error.ts';
export * from './error-text.ts';
export * from './several-at-once.ts';
export * from './user-info.ts';
export * from './at-once.ts';
export * from './json-codec.ts';
export * from './yaml-codec.ts';
export * from './strconv.ts';
export * from './names.ts';
export * from './finalizers.ts';
export * from './owner-references.ts';
export * from './field-manager.ts';
export * from './object-meta-validation.ts';
export * from './generate-name.ts';
export * from './version-priority.ts';
export * from './hash-encoding.ts';
export * from './resource-version.ts';
export * from './continue-token.ts';
export * from './selectors/selector-parse-error.ts';
export * from './selectors/label-requirement.ts';
export * from './selectors/label-selector.ts';
export * from './selectors/field-selector.ts';
export * from './options.ts';
export * from './time.ts';
export * from './media-type.ts';
export * from './table.ts';
export * from './conditions.ts';
export * from './patch/json-patch.ts';
export { applyMergePatch, applyMergePatchInSteps } from './patch/merge-patch.ts';
export * from './patch/strategic-merge-patch.ts';
export * from './quantity.ts';
export * from './json-path.ts';
export { decodeMessage, maxMessageDepth } from './protobuf/message-decoder.ts';
export { encodeMessage } from './protobuf/message-encoder.ts';
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
export { decodeFieldsV1, encodeFieldsV1, encodeInSteps } from './apply/fields-v1.ts';
export { fieldSetOf } from './apply/field-set-of.ts';
export { TypedValueError, validateTyped } from './apply/validate-typed.ts';
export { Comparison, compareTyped } from './apply/compare-typed.ts';
export { fieldsOfNew } from './apply/fields-of-new.ts';
export { mergeTyped } from './apply/merge-typed.ts';
export { extractFields, removeFields } from './apply/remove-fields.ts';
export * from './apply/managed-fields.ts';
export { ApplyConflicts, applyConflictStatus } from './apply/apply-conflict.ts';
export * from './apply/update-managers.ts';
