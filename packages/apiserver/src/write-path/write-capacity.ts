import type { WriteRequest } from './write-request.ts';

/** What a write stores. */
export interface WriteSize {
  readonly key: string;
  readonly bytes: number;
  /** Bytes of the object that it replaces; undefined: it creates the object. */
  readonly oldBytes: number | undefined;
}

/** Limits what is stored in a logical cluster. Absent: there are no limits. */
export interface WriteCapacity {
  /**
   * Takes the room for a write before it is sent to the store; throws a 403 StatusError if a limit would be exceeded. The
   * returned function is called with whether the write succeeded. Undefined: the write needs no room. A promise only while
   * the contents of the store are not counted yet, or before a refusal, until the count is as fresh as a consistent read.
   */
  reserve(request: WriteRequest, size: WriteSize): Reserved | Promise<Reserved>;
}

export type Reserved = ((succeeded: boolean) => void) | undefined;

/** Runs a write in the room that it needs. */
export async function writeWithin(
  capacity: WriteCapacity | undefined,
  request: WriteRequest,
  size: WriteSize,
  write: () => Promise<number>,
): Promise<number> {
  const reserving = capacity?.reserve(request, size);
  const done = reserving instanceof Promise ? await reserving : reserving;
  if (done === undefined) return await write();
  let succeeded = false;
  try {
    const revision = await write();
    succeeded = true;
    return revision;
  } finally {
    done(succeeded);
  }
}
