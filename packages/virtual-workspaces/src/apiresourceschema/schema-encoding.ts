import { encodeJson, type DeepReadonly, type KubeObject } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { columnDefinitions, includeObjectOf, partialObject, tableOfOne, tableRow } from '@multiplane/apiserver';
import type { Negotiated } from '@multiplane/generic-server';
import type { BoundSchema } from './bound-schemas.ts';

/** The negotiated format of a response, and what it needs to encode objects. */
export interface ResponseFormat {
  readonly definition: ResourceDefinition;
  readonly negotiated: Negotiated;
  readonly query: URLSearchParams;
  readonly now: () => Date;
}

/** Encodes one object in the negotiated format, as JSON text. */
export function encodeSchema(format: ResponseFormat, object: DeepReadonly<KubeObject>, columns = true): string {
  const { definition, negotiated, query, now } = format;
  const { transform } = negotiated;
  if (transform === undefined) return encodeJson(object);
  if (transform.kind !== 'Table') return partialObject(object, transform);
  return tableOfOne(definition, object, transform, includeObjectOf(query), now(), columns);
}

/** Encodes a list in the negotiated format, as JSON text. */
export function encodeSchemaList(format: ResponseFormat, items: readonly BoundSchema[], version: number): string {
  const { definition, negotiated, query, now } = format;
  const { transform } = negotiated;
  const metadata = `"metadata":{"resourceVersion":"${version}"}`;
  if (transform?.kind === 'Table') {
    const rows = items.map((item) => tableRow(definition, item, transform, includeObjectOf(query), now()));
    return `{"kind":"Table","apiVersion":"meta.k8s.io/${transform.version}",${metadata},${columnDefinitions(definition)},"rows":[${rows.join(',')}]}`;
  }
  const texts = items.map((item) => encodeSchema(format, item));
  const head =
    transform === undefined
      ? `"kind":"${definition.listKind}","apiVersion":"${definition.group}/${definition.version}"`
      : `"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/${transform.version}"`;
  return `{${head},${metadata},"items":[${texts.join(',')}]}`;
}
