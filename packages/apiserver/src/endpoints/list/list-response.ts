import type { ResourceDefinition } from '@multiplane/apis';
import type { Negotiated, RequestContext } from '@multiplane/generic-server';
import type { ListBlocks } from '../../registry/store/list-blocks.ts';
import type { ObjectSource } from '../../registry/store/object-source.ts';
import type { ObjectView } from '../../registry/store/object-view.ts';
import type { KeptBytes } from '../../registry/store/kept-bytes.ts';
import type { ListPage } from './list-page.ts';

/** A list to be written as the response of a request. */
export interface ListResponse {
  readonly context: RequestContext;
  readonly definition: ResourceDefinition;
  readonly negotiated: Negotiated;
  readonly page: ListPage;
  readonly revision: number;
  readonly reader: ObjectSource;
  /** The reader, if a webhook must convert the objects first. */
  readonly view?: ObjectView | undefined;
  readonly now: Date;
  /** Cache of encoded list segments. */
  readonly blocks?: ListBlocks | undefined;
  /** The same for lists in protobuf. */
  readonly protobufBlocks?: ListBlocks | undefined;
  /** What lists in protobuf keep while they are written. */
  readonly keptBytes: KeptBytes;
}
