import { timeSlices } from '@multiplane/component-base';
import type { RequestContext } from '@multiplane/generic-server';

/** Encrypting this much takes less than a millisecond. */
const pieceBytes = 256 * 1024;

/**
 * Sends a long document with its Content-Length as fast as the client reads it, in time slices of its logical cluster:
 * encrypting dozens of megabytes at once, or those of many clients in one iteration of the event loop, would delay others.
 * The headers are set. Throws if the client disconnected.
 */
export async function respondInPieces({ exchange, info, signal }: RequestContext, bytes: Buffer): Promise<void> {
  if (bytes.length <= pieceBytes || exchange.method === 'HEAD') {
    exchange.respond(200, bytes);
    return;
  }
  const slices = timeSlices(info.cluster);
  if (slices.isExceeded) await slices.yield();
  exchange.setHeader('content-length', String(bytes.length));
  exchange.start(200);
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    if (!exchange.write(bytes.subarray(at, at + pieceBytes))) await exchange.drained();
    if (slices.isExceeded) await slices.yield();
    signal.throwIfAborted();
    exchange.signal.throwIfAborted();
  }
  exchange.end();
}
