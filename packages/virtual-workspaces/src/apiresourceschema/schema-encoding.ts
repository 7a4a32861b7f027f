import { encodeJson, type DeepReadonly, type KubeObject } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import {
  columnDefinitions,
  includeObjectOf,
  partialObject,
  tableOfOne,
  tableRow,
  type Negotiated,
} from '@multiplane/apiserver';
import type { BoundSchema } from './bound-schemas.ts';

/** What answers are made with. */
export interface AnswerForm {
  readonly definition: ResourceDefinition;
  readonly negotiated: Negotiated;
  readonly query: URLSearchParams;
  readonly now: () => Date;
}

/** One object in the form that was asked for, as JSON. */
export function objectText(form: AnswerForm, object: DeepReadonly<KubeObject>, columns = true): string {
  const { definition, negotiated, query, now } = form;
  const { transform } = negotiated;
  if (transform === undefined) return encodeJson(object);
  if (transform.kind !== 'Table') return partialObject(object, transform);
  return tableOfOne(definition, object, transform, includeObjectOf(query), now(), columns);
}

/** A list in the form that was asked for, as JSON. */
export function listText(form: AnswerForm, items: readonly BoundSchema[], version: number): string {
  const { definition, negotiated, query, now } = form;
  const { transform } = negotiated;
  const metadata = `"metadata":{"resourceVersion":"${version}"}`;
  if (transform?.kind === 'Table') {
    const rows = items.map((item) => tableRow(definition, item, transform, includeObjectOf(query), now()));
    return `{"kind":"Table","apiVersion":"meta.k8s.io/${transform.version}",${metadata},${columnDefinitions(definition)},"rows":[${rows.join(',')}]}`;
  }
  const texts = items.map((item) => objectText(form, item));
  const head =
    transform === undefined
      ? `"kind":"${definition.listKind}","apiVersion":"${definition.group}/${definition.version}"`
      : `"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/${transform.version}"`;
  return `{${head},${metadata},"items":[${texts.join(',')}]}`;
}
