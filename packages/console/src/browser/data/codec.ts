import type { Column, KubeObject, TableRow } from './kube-object.ts';

interface Body {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly KubeObject[] | null;
  readonly columnDefinitions?: readonly Column[] | null;
  readonly rows?: readonly TableRow[] | null;
}

/** How lists and events of one media type are read. */
export interface Codec<T> {
  readonly accept: string;
  itemsOf(body: Body): readonly T[];
  columnsOf(body: Body): readonly Column[];
  eventItemOf(body: unknown): T | undefined;
  keyOf(item: T): string;
  versionOf(item: T): string | undefined;
}

const objectKey = ({ metadata }: Pick<KubeObject, 'metadata'>): string =>
  `${metadata.namespace ?? ''}/${metadata.name}`;

export const objectCodec: Codec<KubeObject> = {
  accept: 'application/json',
  // Items of a list carry no kind of their own on some servers; nothing here depends on it.
  itemsOf: ({ items }) => items ?? [],
  columnsOf: () => [],
  eventItemOf: (body) => body as KubeObject,
  keyOf: objectKey,
  versionOf: ({ metadata }) => metadata.resourceVersion,
};

/** Rows and columns that the server computes, as `kubectl get` asks for them. */
export const tableCodec: Codec<TableRow> = {
  accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json',
  itemsOf: ({ rows }) => rows ?? [],
  columnsOf: ({ columnDefinitions }) => columnDefinitions ?? [],
  eventItemOf: (body) => (body as Body).rows?.[0],
  keyOf: ({ object }) => objectKey(object),
  versionOf: ({ object }) => object.metadata.resourceVersion,
};

export type { Body as ListBody };
