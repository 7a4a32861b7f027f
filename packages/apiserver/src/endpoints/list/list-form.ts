import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import type { CacheEntry } from '@multiplane/storage';
import type { ChunkedBody } from '../response/chunked-body.ts';

/** Writes an item; it is loaded and converted before. */
export type LargeItem = (object: DeepReadonly<KubeObject>) => Promise<void>;

/** The text around the items of a list, and how an item is written. */
export interface ListForm {
  readonly head: string;
  /** Between items. */
  readonly separator: ',' | '';
  readonly tail: string;
  /** The whole response of an empty list, if that is not head and tail. */
  readonly empty?: string | undefined;
  item(body: ChunkedBody, entry: CacheEntry): void;
  /** How a large item is written in passes; undefined: {@link item} copies what is stored. */
  readonly large?: (body: ChunkedBody, entry: CacheEntry) => LargeItem | undefined;
  /** Items are made of parsed objects, not of stored bytes. */
  readonly parses?: boolean;
  /** Encodes several items, each preceded by a comma; undefined if one of them must be converted. */
  readonly run?: (entries: readonly CacheEntry[]) => Buffer | undefined;
}
