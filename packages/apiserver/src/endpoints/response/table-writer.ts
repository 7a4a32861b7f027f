import {
  type DeepReadonly,
  type IncludeObject,
  type KubeObject,
  encodeJson,
  statusErrors,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { Transform } from '@multiplane/generic-server';
import { encodeForWire, encodeMetadata } from '../../registry/codec/object-codec.ts';

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

/** One row: the cells, and the part of the object that `includeObject` names. */
export function tableRow(
  definition: ResourceDefinition,
  object: DeepReadonly<KubeObject>,
  transform: Transform,
  include: IncludeObject,
  now: Date,
): string {
  const cells = encodeJson(definition.tableConvertor.cells(object, now));
  let shown = 'null';
  if (include === 'Metadata') shown = partialObject(object, transform);
  else if (include === 'Object') shown = encodeForWire(object as KubeObject).toString('utf8');
  return `{"cells":${cells},"object":${shown}}`;
}

/** PartialObjectMetadata of an object. */
export function partialObject(object: DeepReadonly<KubeObject>, transform: Transform): string {
  const metadata = metadataOf(object, transform);
  return `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${transform.version}","metadata":${encodeMetadata(metadata, metadata.resourceVersion)}}`;
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
): string {
  const { resourceVersion } = object.metadata;
  const metadata = resourceVersion === undefined ? '{}' : `{"resourceVersion":${JSON.stringify(resourceVersion)}}`;
  return `{"kind":"Table","apiVersion":"meta.k8s.io/${transform.version}","metadata":${metadata},${
    columns ? columnDefinitions(definition) : '"columnDefinitions":null'
  },"rows":[${tableRow(definition, object, transform, include, now)}]}`;
}
