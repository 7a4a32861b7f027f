import {
  type DeepReadonly,
  type IncludeObject,
  type KubeObject,
  encodeJson,
  statusErrors,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { Transform } from '@multiplane/generic-server';
import type { StoredValue } from '@multiplane/storage';
import { metadataEnd } from '../../registry/codec/metadata-scanner.ts';
import { encodeForWire, encodeMetadata } from '../../registry/codec/object-codec.ts';
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
export function tableRow(
  definition: ResourceDefinition,
  object: DeepReadonly<KubeObject>,
  transform: Transform,
  include: IncludeObject,
  now: Date,
  stored?: StoredObject,
): string {
  const cells = encodeJson(definition.tableConvertor.cells(object, now));
  let shown = 'null';
  if (include === 'Metadata')
    shown =
      stored !== undefined && copiesMetadata(definition, transform)
        ? storedPartialObject(stored, transform)
        : partialObject(object, transform);
  else if (include === 'Object') shown = encodeForWire(object as KubeObject).toString('utf8');
  return `{"cells":${cells},"object":${shown}}`;
}

/** PartialObjectMetadata of an object. */
export function partialObject(object: DeepReadonly<KubeObject>, transform: Transform): string {
  const metadata = metadataOf(object, transform);
  return `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${transform.version}","metadata":${encodeMetadata(metadata, metadata.resourceVersion)}}`;
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
export function tableOfOne(
  definition: ResourceDefinition,
  object: DeepReadonly<KubeObject>,
  transform: Transform,
  include: IncludeObject,
  now: Date,
  columns = true,
  stored?: StoredObject,
): string {
  const { resourceVersion } = object.metadata;
  const metadata = resourceVersion === undefined ? '{}' : `{"resourceVersion":${JSON.stringify(resourceVersion)}}`;
  return `{"kind":"Table","apiVersion":"meta.k8s.io/${transform.version}","metadata":${metadata},${
    columns ? columnDefinitions(definition) : '"columnDefinitions":null'
  },"rows":[${tableRow(definition, object, transform, include, now, stored)}]}`;
}
