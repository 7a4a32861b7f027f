import {
  type DeepReadonly,
  type IncludeObject,
  type KubeObject,
  encodeJson,
  runToCompletion,
  statusErrors,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { Transform } from '@multiplane/generic-server';
import type { StoredValue } from '@multiplane/storage';
import { metadataEnd } from '../../registry/codec/metadata-scanner.ts';
import { encodeForWireIncrementally, encodeMetadataIncrementally } from '../../registry/codec/object-codec.ts';
import { itemOffset, revisionOffset, revisionText } from '../../registry/codec/stored-layout.ts';

const originalVersionAnnotation = 'kcp.io/original-api-version';

/** The parameter `includeObject` of a request for a table; throws 400. */
export function includeObjectOf(query: URLSearchParams): IncludeObject {
  const text = query.get('includeObject') ?? '';
  switch (text) {
    case '':
      return 'Metadata';
    case 'None':
    case 'Metadata':
    case 'Object':
      return text;
    default:
      throw statusErrors.badRequest(
        `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(text)}: must be 'Metadata', 'Object', 'None', or empty`,
      );
  }
}

/** `"columnDefinitions":[…]` of a kind. */
export function columnDefinitions(definition: ResourceDefinition): string {
  const columns = definition.tableConvertor.columns.map(({ name, type, format, description, priority }) => ({
    name,
    type,
    format,
    description,
    priority,
  }));
  return `"columnDefinitions":${encodeJson(columns)}`;
}

/** An object as it is stored, and the revision that clients see. */
export type StoredObject = Pick<StoredValue, 'value' | 'revision'>;

/**
 * One row: the cells, and the part of the object that `includeObject` names. `stored`: what the object was read from, if it was;
 * its metadata is copied if possible, because encoding that of a large object, with its managedFields, takes long.
 */
export const tableRow = (...row: Row): string => runToCompletion(tableRowIncrementally(...row));

type Row = [
  definition: ResourceDefinition,
  object: DeepReadonly<KubeObject>,
  transform: Transform,
  include: IncludeObject,
  now: Date,
  stored?: StoredObject,
];

/** {@link tableRow} in passes. */
export function* tableRowIncrementally(
  ...[definition, object, transform, include, now, stored]: Row
): Generator<void, string> {
  const cells = encodeJson(definition.tableConvertor.cells(object, now));
  let shown = 'null';
  if (include !== 'None') yield;
  if (include === 'Metadata')
    shown =
      stored !== undefined && copiesMetadata(definition, transform)
        ? storedPartialObject(stored, transform)
        : yield* partialObjectIncrementally(object, transform);
  else if (include === 'Object') shown = yield* encodeForWireIncrementally(object as KubeObject);
  return `{"cells":${cells},"object":${shown}}`;
}

/** PartialObjectMetadata of an object. */
export const partialObject = (object: DeepReadonly<KubeObject>, transform: Transform): string =>
  runToCompletion(partialObjectIncrementally(object, transform));

/** {@link partialObject} in passes. */
export function* partialObjectIncrementally(
  object: DeepReadonly<KubeObject>,
  transform: Transform,
): Generator<void, string> {
  const metadata = metadataOf(object, transform);
  const text = yield* encodeMetadataIncrementally(metadata, metadata.resourceVersion);
  return `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${transform.version}","metadata":${text}}`;
}

/** Whether PartialObjectMetadata contains stored bytes unchanged: without a converter metadata is the same in all versions. */
export const copiesMetadata = (definition: ResourceDefinition, transform: Transform): boolean =>
  definition.converter === undefined && definition.conversion === undefined && transform.namesOriginalVersion !== true;

/** {@link partialObject} of stored bytes, without parsing them; only if {@link copiesMetadata}. */
export function storedPartialObject({ value, revision }: StoredObject, transform: Transform): string {
  const offset = revisionOffset(value);
  const before = value.toString('utf8', itemOffset(value), offset);
  const after = value.toString('utf8', offset, metadataEnd(value));
  return `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${transform.version}",${before}${revisionText(revision)}${after}}`;
}

function metadataOf(object: DeepReadonly<KubeObject>, transform: Transform): KubeObject['metadata'] {
  const metadata = object.metadata as KubeObject['metadata'];
  if (transform.namesOriginalVersion !== true || object.apiVersion === undefined) return metadata;
  return { ...metadata, annotations: { ...metadata.annotations, [originalVersionAnnotation]: object.apiVersion } };
}

/** A table with one object, for GET, writes and watch events. `columns`: false for all but the first event of a watch. */
export const tableOfOne = (...table: TableOfOne): string => runToCompletion(tableOfOneIncrementally(...table));

type TableOfOne = [
  definition: ResourceDefinition,
  object: DeepReadonly<KubeObject>,
  transform: Transform,
  include: IncludeObject,
  now: Date,
  columns?: boolean,
  stored?: StoredObject,
];

/** {@link tableOfOne} in passes. */
export function* tableOfOneIncrementally(
  ...[definition, object, transform, include, now, columns = true, stored]: TableOfOne
): Generator<void, string> {
  const { resourceVersion } = object.metadata;
  const metadata = resourceVersion === undefined ? '{}' : `{"resourceVersion":${JSON.stringify(resourceVersion)}}`;
  const row = yield* tableRowIncrementally(definition, object, transform, include, now, stored);
  return `{"kind":"Table","apiVersion":"meta.k8s.io/${transform.version}","metadata":${metadata},${
    columns ? columnDefinitions(definition) : '"columnDefinitions":null'
  },"rows":[${row}]}`;
}
